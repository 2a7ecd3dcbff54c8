/** Traffic classes, from the most to the least privileged (`docs/contract.md#consent`). */
const TRAFFIC_CLASSES = ["otp", "transactional", "promotional"] as const;

/** One class of traffic. */
export type TrafficClass = (typeof TRAFFIC_CLASSES)[number];

/** True when a send may be of this class under a sender ID of that one: the same, or less privileged. */
export function isAllowed(wanted: TrafficClass, ofSender: TrafficClass): boolean {
  return TRAFFIC_CLASSES.indexOf(wanted) >= TRAFFIC_CLASSES.indexOf(ofSender);
}

/** True when an opt-out of the recipient blocks the class. */
export function needsConsent(trafficClass: TrafficClass): boolean {
  return trafficClass !== "otp";
}
