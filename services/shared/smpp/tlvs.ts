import { EncodeError } from "./errors.ts";

type TlvKind = "int8" | "int16" | "int32" | "cstring" | "octets" | "flag" | "octetsList";

/**
 * Optional parameters of SMPP 3.4 section 5.3.2: tag, form, most octets of the value.
 * `octetsList` is an octet parameter that may be present several times; `flag` has no value.
 */
export const TLV_FIELDS = {
  destAddrSubunit: [0x0005, "int8"],
  destNetworkType: [0x0006, "int8"],
  destBearerType: [0x0007, "int8"],
  destTelematicsId: [0x0008, "int16"],
  sourceAddrSubunit: [0x000d, "int8"],
  sourceNetworkType: [0x000e, "int8"],
  sourceBearerType: [0x000f, "int8"],
  sourceTelematicsId: [0x0010, "int8"],
  qosTimeToLive: [0x0017, "int32"],
  payloadType: [0x0019, "int8"],
  additionalStatusInfoText: [0x001d, "cstring", 256],
  receiptedMessageId: [0x001e, "cstring", 65],
  msMsgWaitFacilities: [0x0030, "int8"],
  privacyIndicator: [0x0201, "int8"],
  sourceSubaddress: [0x0202, "octets", 23],
  destSubaddress: [0x0203, "octets", 23],
  userMessageReference: [0x0204, "int16"],
  userResponseCode: [0x0205, "int8"],
  sourcePort: [0x020a, "int16"],
  destinationPort: [0x020b, "int16"],
  sarMsgRefNum: [0x020c, "int16"],
  languageIndicator: [0x020d, "int8"],
  sarTotalSegments: [0x020e, "int8"],
  sarSegmentSeqnum: [0x020f, "int8"],
  scInterfaceVersion: [0x0210, "int8"],
  callbackNumPresInd: [0x0302, "octetsList", 1],
  callbackNumAtag: [0x0303, "octetsList", 65],
  numberOfMessages: [0x0304, "int8"],
  callbackNum: [0x0381, "octetsList", 19],
  dpfResult: [0x0420, "int8"],
  setDpf: [0x0421, "int8"],
  msAvailabilityStatus: [0x0422, "int8"],
  networkErrorCode: [0x0423, "octets", 3],
  messagePayload: [0x0424, "octets", 65535],
  deliveryFailureReason: [0x0425, "int8"],
  moreMessagesToSend: [0x0426, "int8"],
  messageState: [0x0427, "int8"],
  ussdServiceOp: [0x0501, "octets", 1],
  displayTime: [0x1201, "int8"],
  smsSignal: [0x1203, "int16"],
  msValidity: [0x1204, "int8"],
  alertOnMessageDelivery: [0x130c, "flag"],
  itsReplyType: [0x1380, "int8"],
  itsSessionInfo: [0x1383, "octets", 2],
} as const satisfies Record<string, readonly [number, TlvKind, number?]>;

type TlvName = keyof typeof TLV_FIELDS;
type TlvValue<K> = K extends "int8" | "int16" | "int32"
  ? number
  : K extends "cstring"
    ? string
    : K extends "octets"
      ? Buffer
      : K extends "flag"
        ? true
        : Buffer[];

/** An optional parameter outside the table, such as a vendor's (0x1400 to 0x3fff). */
export interface OtherTlv {
  tag: number;
  value: Buffer;
}

/** The optional parameters of a PDU by name; those outside the table are in `other`. */
export type Tlvs = {
  [N in TlvName]?: TlvValue<(typeof TLV_FIELDS)[N][1]>;
} & { other?: OtherTlv[] };

/** The parameters of a PDU without any; shared and immutable. */
export const NO_TLVS: Tlvs = Object.freeze({});

interface TlvField {
  name: TlvName;
  tag: number;
  kind: TlvKind;
  bytesMax: number;
}

const FIELDS: TlvField[] = (
  Object.entries(TLV_FIELDS) as [TlvName, readonly [number, TlvKind, number?]][]
).map(([name, [tag, kind, bytesMax]]) => ({ name, tag, kind, bytesMax: bytesMax ?? 0 }));
const BY_TAG = new Map(FIELDS.map((field) => [field.tag, field]));
const BY_NAME = new Map<string, TlvField>(FIELDS.map((field) => [field.name, field]));
const INTEGER_BYTES: Partial<Record<TlvKind, number>> = { int8: 1, int16: 2, int32: 4 };

/**
 * Reads the optional parameters between `start` and `end`. It ignores up to three octets at the end, because some
 * codecs pad, and accepts integers of unusual width. Returns undefined when a parameter exceeds `end`.
 */
export function decodeTlvs(buffer: Buffer, start: number, end: number): Tlvs | undefined {
  if (end - start < 4) return NO_TLVS;
  const out: Record<string, unknown> = {};
  let at = start;
  while (end - at >= 4) {
    const tag = ((buffer[at] as number) << 8) | (buffer[at + 1] as number);
    const length = ((buffer[at + 2] as number) << 8) | (buffer[at + 3] as number);
    const from = at + 4;
    at = from + length;
    if (at > end) return undefined;
    readValue(out, BY_TAG.get(tag), tag, buffer, from, at);
  }
  return out as Tlvs;
}

function readValue(
  out: Record<string, unknown>,
  field: TlvField | undefined,
  tag: number,
  buffer: Buffer,
  from: number,
  to: number,
): void {
  const kind = field?.kind;
  if (field === undefined || kind === undefined) {
    addOther(out, tag, buffer.subarray(from, to));
  } else if (kind === "octets") {
    out[field.name] = buffer.subarray(from, to);
  } else if (kind === "cstring") {
    let zero = from;
    while (zero < to && buffer[zero] !== 0) zero++;
    out[field.name] = buffer.toString("latin1", from, zero);
  } else if (kind === "flag") {
    out[field.name] = true;
  } else if (kind === "octetsList") {
    const list = out[field.name] as Buffer[] | undefined;
    if (list === undefined) out[field.name] = [buffer.subarray(from, to)];
    else list.push(buffer.subarray(from, to));
  } else if (to - from >= 1 && to - from <= 4) {
    out[field.name] = buffer.readUIntBE(from, to - from);
  } else {
    addOther(out, tag, buffer.subarray(from, to));
  }
}

function addOther(out: Record<string, unknown>, tag: number, value: Buffer): void {
  const list = out.other as OtherTlv[] | undefined;
  if (list === undefined) out.other = [{ tag, value }];
  else list.push({ tag, value });
}

/** An upper bound of the octets that `encodeTlvs` writes. */
export function tlvsBytesMax(tlvs: Tlvs): number {
  let bytes = 0;
  for (const name in tlvs) {
    const value = (tlvs as Record<string, unknown>)[name];
    if (Array.isArray(value)) {
      for (const item of value) bytes += 4 + ("value" in item ? item.value : item).length;
    } else if (typeof value === "string" || Buffer.isBuffer(value)) bytes += 5 + value.length;
    else bytes += 8;
  }
  return bytes;
}

/** Writes the optional parameters at `at` and returns the offset after them; throws EncodeError. */
export function encodeTlvs(tlvs: Tlvs, buffer: Buffer, at: number): number {
  for (const name in tlvs) {
    const value = (tlvs as Record<string, unknown>)[name];
    if (value === undefined) continue;
    if (name === "other") {
      for (const { tag, value: octets } of value as OtherTlv[]) {
        at = writeOctets(buffer, at, tag, octets, 65535, `tlv 0x${tag.toString(16)}`);
      }
      continue;
    }
    const field = BY_NAME.get(name);
    if (field === undefined) throw new EncodeError(name, "is not an optional parameter");
    at = writeValue(buffer, at, field, value);
  }
  return at;
}

function writeValue(buffer: Buffer, at: number, field: TlvField, value: unknown): number {
  const { name, tag, kind, bytesMax } = field;
  if (kind === "octets") return writeOctets(buffer, at, tag, value as Buffer, bytesMax, name);
  if (kind === "octetsList") {
    for (const item of value as Buffer[]) {
      at = writeOctets(buffer, at, tag, item, bytesMax, name);
    }
    return at;
  }
  if (kind === "cstring") {
    const text = value as string;
    if (text.includes("\0")) throw new EncodeError(name, "contains a zero octet");
    const octets = Buffer.from(`${text}\0`, "latin1");
    return writeOctets(buffer, at, tag, octets, bytesMax, name);
  }
  const width = INTEGER_BYTES[kind] ?? 0;
  at = writeHeader(buffer, at, tag, width);
  if (width > 0) {
    const number = value as number;
    if (!(Number.isInteger(number) && number >= 0 && number < 256 ** width)) {
      throw new EncodeError(name, "is out of range");
    }
    buffer.writeUIntBE(number, at, width);
  }
  return at + width;
}

function writeHeader(buffer: Buffer, at: number, tag: number, length: number): number {
  buffer[at] = tag >>> 8;
  buffer[at + 1] = tag & 0xff;
  buffer[at + 2] = length >>> 8;
  buffer[at + 3] = length & 0xff;
  return at + 4;
}

function writeOctets(
  buffer: Buffer,
  at: number,
  tag: number,
  value: Buffer,
  bytesMax: number,
  name: string,
): number {
  if (value.length > bytesMax) throw new EncodeError(name, `is longer than ${bytesMax} octets`);
  at = writeHeader(buffer, at, tag, value.length);
  value.copy(buffer, at);
  return at + value.length;
}
