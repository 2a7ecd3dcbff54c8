import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";

const TRAFFIC_CLASSES: Readonly<Record<string, TrafficClass>> = {
  otp: TrafficClass.OTP,
  transactional: TrafficClass.TRANSACTIONAL,
  promotional: TrafficClass.PROMOTIONAL,
};

/** The traffic class of a body; unspecified when it names none. */
export function readTrafficClass(value: unknown): TrafficClass {
  return TRAFFIC_CLASSES[String(value)] ?? TrafficClass.UNSPECIFIED;
}
