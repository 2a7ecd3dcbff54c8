import type { InboundMessage } from "../domain/inbound.ts";

/** One document of `inbound`. */
export type InboundDocument = {
  _id: string;
  tenant_id: string | null;
  from: string;
  to: string;
  body: string;
  encoding: InboundMessage["encoding"];
  parts: number;
  parts_received: number;
  action?: InboundMessage["action"] & string;
  connector_id: string;
  received_at: Date;
  /** The message's key, the same for repeats; absent for a message in several parts, as are the next three fields. */
  message_key?: string;
  /** The same key, while the same message again is a repeat. */
  repeat_key?: string;
  /** When `repeat_key` is free again without a confirmation. */
  repeat_until?: Date;
  /** When the carrier confirmed its acknowledgement. */
  confirmed_at?: Date;
  stored_at: Date;
  expires_at: Date;
};
