import { TrafficClass as WireTrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import type { TrafficClass } from "../core/traffic-class.ts";

/** Our traffic classes in the protocol. */
export const WIRE_TRAFFIC_CLASS: Readonly<Record<TrafficClass, WireTrafficClass>> = {
  otp: WireTrafficClass.OTP,
  transactional: WireTrafficClass.TRANSACTIONAL,
  promotional: WireTrafficClass.PROMOTIONAL,
};

const CLASSES: Readonly<Record<number, TrafficClass>> = {
  [WireTrafficClass.OTP]: "otp",
  [WireTrafficClass.TRANSACTIONAL]: "transactional",
  [WireTrafficClass.PROMOTIONAL]: "promotional",
};

/**
 * Reads a traffic class; undefined when none is given. A class that only a newer release knows is bound by every rule,
 * as promotional messages are.
 */
export function readTrafficClass(wire: WireTrafficClass): TrafficClass | undefined {
  return wire === WireTrafficClass.UNSPECIFIED ? undefined : (CLASSES[wire] ?? "promotional");
}

/** Reads a class that a route names; `unknown`, which no message has, for one that only a newer release knows. */
export function routeClassOf(wire: WireTrafficClass): string {
  return CLASSES[wire] ?? "unknown";
}
