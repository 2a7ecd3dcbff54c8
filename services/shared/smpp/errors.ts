/**
 * A frame with an impossible length. No later frame can be read, so the socket closes.
 */
export class FrameError extends Error {
  readonly reason: "too_short" | "too_long";
  readonly lengthBytes: number;

  constructor(reason: "too_short" | "too_long", lengthBytes: number) {
    super(`command_length ${lengthBytes} is ${reason.replace("_", " ")}`);
    this.name = "FrameError";
    this.reason = reason;
    this.lengthBytes = lengthBytes;
  }
}

/**
 * A PDU of valid length that cannot be decoded. Later PDUs can: a request gets generic_nack with `status`, and the
 * session goes on.
 */
export class PduError extends Error {
  readonly status: number;
  readonly commandId: number;
  readonly sequence: number;
  /** The command_status of the PDU, which separates refusals from acceptances. */
  readonly commandStatus: number;

  constructor(
    message: string,
    at: { status: number; commandId: number; sequence: number; commandStatus: number },
  ) {
    super(message);
    this.name = "PduError";
    this.status = at.status;
    this.commandId = at.commandId;
    this.sequence = at.sequence;
    this.commandStatus = at.commandStatus;
  }
}

/** A value that the wire format cannot carry: too long, out of range, or with a zero octet inside. */
export class EncodeError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(`${field} ${message}`);
    this.name = "EncodeError";
    this.field = field;
  }
}
