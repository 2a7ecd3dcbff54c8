/** What a message may be for. */
export const TRAFFIC_CLASSES = ["otp", "transactional", "promotional"] as const;
