/** Quiet hours in the protocol: the routing service writes them, messaging and `smsctl` read them. */
import type { QuietHours } from "../../../proto/gen/sms/v1/routing_pb.js";
import { TrafficClass as WireTrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import type { QuietRule } from "../core/quiet-hours.ts";
import type { TrafficClass } from "../core/traffic-class.ts";
import { WIRE_TRAFFIC_CLASS } from "./traffic-class.ts";

const CLASSES: Readonly<Record<WireTrafficClass, TrafficClass>> = {
  // Quiet hours bind promotional messages unless they name another class.
  [WireTrafficClass.UNSPECIFIED]: "promotional",
  [WireTrafficClass.OTP]: "otp",
  [WireTrafficClass.TRANSACTIONAL]: "transactional",
  [WireTrafficClass.PROMOTIONAL]: "promotional",
};

/** Reads quiet hours; without a traffic class they are of `promotional`. */
export function readQuietRule(wire: QuietHours): QuietRule {
  const { country, timeZone, windows } = wire;
  return {
    country,
    timeZone,
    trafficClass: CLASSES[wire.trafficClass] ?? ("unknown" as TrafficClass),
    windows: windows.map(({ fromMinute, untilMinute }) => ({ fromMinute, untilMinute })),
  };
}

/** Writes quiet hours. */
export function writeQuietRule({ country, timeZone, trafficClass, windows }: QuietRule) {
  return {
    country,
    timeZone,
    trafficClass: WIRE_TRAFFIC_CLASS[trafficClass],
    windows: windows.map(({ fromMinute, untilMinute }) => ({ fromMinute, untilMinute })),
  };
}
