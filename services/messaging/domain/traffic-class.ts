import { TRAFFIC_CLASSES, type TrafficClass } from "../../shared/core/traffic-class.ts";

/** True when a send may be of this class under a sender ID of that one: the same, or less privileged. */
export function isAllowed(wanted: TrafficClass, ofSender: TrafficClass): boolean {
  return TRAFFIC_CLASSES.indexOf(wanted) >= TRAFFIC_CLASSES.indexOf(ofSender);
}

/** True when an opt-out of the recipient blocks the class. */
export function needsConsent(trafficClass: TrafficClass): boolean {
  return trafficClass !== "otp";
}
