/** Traffic classes, from the most to the least privileged (`docs/contract.md#consent`). */
export const TRAFFIC_CLASSES = ["otp", "transactional", "promotional"] as const;

/** One class of traffic. */
export type TrafficClass = (typeof TRAFFIC_CLASSES)[number];

/** The class of a stored name. A class of a newer release is bound by every rule, as promotional messages are. */
export function trafficClassOf(name: string): TrafficClass {
  return TRAFFIC_CLASSES.find((one) => one === name) ?? "promotional";
}
