import { COMMAND_IDS, type CommandName, commandName, isResponseId } from "./commands.ts";
import { EncodeError, PduError } from "./errors.ts";
import type { Destination, FailedDestination, Field, OutgoingPdu, Pdu } from "./pdu.ts";
import { PDU_FIELDS } from "./pdu.ts";
import { STATUS } from "./statuses.ts";
import { decodeTlvs, encodeTlvs, NO_TLVS, type Tlvs, tlvsBytesMax } from "./tlvs.ts";

/** Octets of the PDU header: length, command, status, sequence (SMPP 3.4 section 3.2). */
export const HEADER_BYTES = 16;
/** The most octets of short_message, SMPP 3.4 section 5.2.22. */
const SHORT_MESSAGE_BYTES_MAX = 254;

const FIXED_BYTES_MAX = new Map<CommandName, number>(
  (Object.entries(PDU_FIELDS) as [CommandName, readonly Field[]][]).map(([command, fields]) => [
    command,
    fields.reduce((sum, [, kind, bytesMax]) => sum + (bytesMax ?? fixedBytes(kind)), HEADER_BYTES),
  ]),
);

function fixedBytes(kind: Field[1]): number {
  return kind === "octets" ? 1 + SHORT_MESSAGE_BYTES_MAX : 1;
}

/** An upper bound of the octets that `encodePduInto` writes for this PDU. */
export function pduBytesMax(pdu: OutgoingPdu): number {
  let bytes = FIXED_BYTES_MAX.get(pdu.command) ?? HEADER_BYTES;
  if (pdu.tlvs !== undefined && pdu.tlvs !== NO_TLVS) bytes += tlvsBytesMax(pdu.tlvs);
  if (pdu.command === "submit_multi" || pdu.command === "submit_multi_resp") bytes += 255 * 32;
  return bytes;
}

/** Encodes a PDU into a buffer of its own. Throws EncodeError when a value does not fit its field. */
export function encodePdu(pdu: OutgoingPdu): Buffer {
  const buffer = Buffer.allocUnsafe(pduBytesMax(pdu));
  return buffer.subarray(0, encodePduInto(pdu, buffer, 0));
}

/**
 * Encodes a PDU at an offset and returns the offset behind it. The buffer must have `pduBytesMax`
 * octets left. After an EncodeError the octets from that offset on are invalid.
 */
export function encodePduInto(pdu: OutgoingPdu, buffer: Buffer, start: number): number {
  const fields: readonly Field[] = PDU_FIELDS[pdu.command];
  const body = (pdu.body ?? NO_TLVS) as Record<string, unknown>;
  let at = start + HEADER_BYTES;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as Field;
    const value = body[field[0]];
    const kind = field[1];
    if (kind === "int8") at = writeInt8(buffer, at, field[0], value as number | undefined);
    else if (kind === "cstring") {
      at = writeCString(buffer, at, field[0], (value ?? "") as string, field[2] as number);
    } else if (kind === "octets") at = writeShortMessage(buffer, at, value as Buffer | undefined);
    else if (kind === "destinations") at = writeDestinations(buffer, at, value as Destination[]);
    else at = writeFailures(buffer, at, (value ?? []) as FailedDestination[]);
  }
  if (pdu.tlvs !== undefined) at = encodeTlvs(pdu.tlvs, buffer, at);
  writeInt32(buffer, start, at - start);
  writeInt32(buffer, start + 4, COMMAND_IDS[pdu.command]);
  writeInt32(buffer, start + 8, pdu.status ?? 0);
  writeInt32(buffer, start + 12, pdu.sequence);
  return at;
}

function writeInt32(buffer: Buffer, at: number, value: number): void {
  buffer[at] = value >>> 24;
  buffer[at + 1] = value >>> 16;
  buffer[at + 2] = value >>> 8;
  buffer[at + 3] = value;
}

function writeInt8(buffer: Buffer, at: number, name: string, value = 0): number {
  if ((value & 0xff) !== value) throw new EncodeError(name, "is not an octet");
  buffer[at] = value;
  return at + 1;
}

function writeCString(
  buffer: Buffer,
  at: number,
  name: string,
  value: string,
  bytesMax: number,
): number {
  const length = value.length;
  if (length >= bytesMax) throw new EncodeError(name, `is longer than ${bytesMax - 1} octets`);
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    if (code === 0 || code > 0xff) {
      throw new EncodeError(name, "contains a character that a C-octet string cannot hold");
    }
    buffer[at++] = code;
  }
  buffer[at] = 0;
  return at + 1;
}

function writeShortMessage(buffer: Buffer, at: number, value: Buffer | undefined): number {
  const length = value?.length ?? 0;
  if (length > SHORT_MESSAGE_BYTES_MAX) {
    throw new EncodeError("shortMessage", `is longer than ${SHORT_MESSAGE_BYTES_MAX} octets`);
  }
  buffer[at++] = length;
  if (value !== undefined) for (let i = 0; i < length; i++) buffer[at++] = value[i] as number;
  return at;
}

function writeDestinations(buffer: Buffer, at: number, list: Destination[] | undefined): number {
  const count = list?.length ?? 0;
  if (list === undefined || count < 1 || count > 254) {
    throw new EncodeError("destinations", "must be 1 to 254");
  }
  buffer[at++] = count;
  for (const item of list) {
    if (item.kind === "list") {
      buffer[at++] = 2;
      at = writeCString(buffer, at, "dl_name", item.name, 21);
    } else {
      buffer[at++] = 1;
      at = writeInt8(buffer, at, "ton", item.ton);
      at = writeInt8(buffer, at, "npi", item.npi);
      at = writeCString(buffer, at, "destinationAddr", item.address, 21);
    }
  }
  return at;
}

function writeFailures(buffer: Buffer, at: number, list: FailedDestination[]): number {
  if (list.length > 255) throw new EncodeError("unsuccess", "has more than 255 entries");
  buffer[at++] = list.length;
  for (const item of list) {
    at = writeInt8(buffer, at, "ton", item.ton);
    at = writeInt8(buffer, at, "npi", item.npi);
    at = writeCString(buffer, at, "destinationAddr", item.address, 21);
    writeInt32(buffer, at, item.status);
    at += 4;
  }
  return at;
}

/**
 * Decodes the PDU between `start` and `end`. It accepts strings that are longer than SMPP 3.4 allows, and responses
 * without a body. Throws PduError for an unknown command and for an incomplete body.
 */
export function decodePdu(buffer: Buffer, start: number, end: number): Pdu {
  const commandId = readInt32(buffer, start + 4);
  const status = readInt32(buffer, start + 8);
  const sequence = readInt32(buffer, start + 12);
  const command = commandName(commandId);
  if (command === undefined) {
    const at = { status: STATUS.ESME_RINVCMDID, commandId, sequence, commandStatus: status };
    throw new PduError(`unknown command 0x${commandId.toString(16)}`, at);
  }
  const reader = READER;
  reader.at = start + HEADER_BYTES;
  reader.end = end;
  reader.isBroken = false;
  reader.isLenient = isResponseId(commandId) && end === reader.at;
  const body = readBody(buffer, reader, PDU_FIELDS[command]);
  let tlvs: Tlvs | undefined = NO_TLVS;
  if (!reader.isBroken && reader.at < end) {
    tlvs = decodeTlvs(buffer, reader.at, end);
    // One vendor's codec writes an extra octet in deliver_sm before the parameters.
    if (tlvs === undefined && command === "deliver_sm") {
      tlvs = decodeTlvs(buffer, reader.at + 1, end);
    }
  }
  if (reader.isBroken || tlvs === undefined) {
    const nack = tlvs === undefined ? STATUS.ESME_RINVOPTPARSTREAM : STATUS.ESME_RINVCMDLEN;
    const at = { status: nack, commandId, sequence, commandStatus: status };
    throw new PduError(`${command} does not hold the fields of its command`, at);
  }
  return { command, status, sequence, body, tlvs } as unknown as Pdu;
}

interface Reader {
  at: number;
  end: number;
  isBroken: boolean;
  /** In a response without a body all fields are zero or empty. */
  isLenient: boolean;
}

/** One cursor serves all calls, because decoding is synchronous. */
const READER: Reader = { at: 0, end: 0, isBroken: false, isLenient: false };

function readBody(buffer: Buffer, reader: Reader, fields: readonly Field[]): unknown {
  const body: Record<string, unknown> = {};
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] as Field;
    const kind = field[1];
    if (kind === "int8") body[field[0]] = readInt8(buffer, reader);
    else if (kind === "cstring") body[field[0]] = readCString(buffer, reader);
    else if (kind === "octets") body[field[0]] = readShortMessage(buffer, reader);
    else if (kind === "destinations") body[field[0]] = readDestinations(buffer, reader);
    else body[field[0]] = readFailures(buffer, reader);
  }
  return body;
}

function readInt32(buffer: Buffer, at: number): number {
  return (
    (((buffer[at] as number) << 24) |
      ((buffer[at + 1] as number) << 16) |
      ((buffer[at + 2] as number) << 8) |
      (buffer[at + 3] as number)) >>>
    0
  );
}

function readInt8(buffer: Buffer, reader: Reader): number {
  if (reader.at >= reader.end) {
    reader.isBroken ||= !reader.isLenient;
    return 0;
  }
  return buffer[reader.at++] as number;
}

function readCString(buffer: Buffer, reader: Reader): string {
  const from = reader.at;
  let to = from;
  while (to < reader.end && buffer[to] !== 0) to++;
  if (to >= reader.end) {
    reader.isBroken ||= !reader.isLenient;
    return "";
  }
  reader.at = to + 1;
  return to === from ? "" : buffer.toString("latin1", from, to);
}

function readShortMessage(buffer: Buffer, reader: Reader): Buffer {
  const length = readInt8(buffer, reader);
  const from = reader.at;
  if (from + length > reader.end) {
    reader.isBroken = true;
    return EMPTY;
  }
  reader.at = from + length;
  return length === 0 ? EMPTY : buffer.subarray(from, from + length);
}

const EMPTY = Buffer.alloc(0);

function readDestinations(buffer: Buffer, reader: Reader): Destination[] {
  const list: Destination[] = [];
  for (let left = readInt8(buffer, reader); left > 0 && !reader.isBroken; left--) {
    const flag = readInt8(buffer, reader);
    if (flag === 2) list.push({ kind: "list", name: readCString(buffer, reader) });
    else if (flag === 1) {
      const ton = readInt8(buffer, reader);
      const npi = readInt8(buffer, reader);
      list.push({ kind: "address", ton, npi, address: readCString(buffer, reader) });
    } else reader.isBroken = true;
  }
  return list;
}

function readFailures(buffer: Buffer, reader: Reader): FailedDestination[] {
  const list: FailedDestination[] = [];
  for (let left = readInt8(buffer, reader); left > 0 && !reader.isBroken; left--) {
    const ton = readInt8(buffer, reader);
    const npi = readInt8(buffer, reader);
    const address = readCString(buffer, reader);
    if (reader.at + 4 > reader.end) {
      reader.isBroken = true;
      break;
    }
    list.push({ ton, npi, address, status: readInt32(buffer, reader.at) });
    reader.at += 4;
  }
  return list;
}
