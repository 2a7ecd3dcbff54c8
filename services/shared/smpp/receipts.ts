import type { Charset } from "./charset.ts";
import { charsetOf, decodeText } from "./charset.ts";
import { isNoId } from "./message-ids.ts";
import type { PduOf } from "./pdu.ts";
import { formatReceiptDate, parseReceiptDate } from "./receipt-dates.ts";
import { readPart } from "./user-data-header.ts";

/** The message states of SMPP 3.4 section 5.2.28. */
export type ReceiptState =
  | "enroute"
  | "delivered"
  | "expired"
  | "deleted"
  | "undeliverable"
  | "accepted"
  | "unknown"
  | "rejected";

/** A delivery receipt; missing fields are undefined. */
export interface Receipt {
  messageId: string | undefined;
  /** The id in the text, when the optional parameter has another one. */
  textId: string | undefined;
  /** Only the text makes it a receipt, and a handset may have written that. */
  isUnmarked: boolean;
  state: ReceiptState;
  /** The state as written: the word of the text, or the number of the parameter. */
  rawState: string;
  /** The `err` field of the text, or network_error_code in decimal when `err` is all zeros. */
  errorCode: string | undefined;
  /** network_error_code: the network type (3 is GSM) and the code. */
  networkError: { type: number; code: number } | undefined;
  submittedAt: Date | undefined;
  doneAt: Date | undefined;
  /** The recipient of the message: the source of the receipt. */
  recipient: string;
  sender: string;
}

/** The settings of receipt parsing. */
export interface ReceiptOptions {
  /** Accepts a text in the format of a receipt even when esm_class does not mark it. */
  isTextEnough?: boolean;
  /** The offset of the carrier's clock from UTC. */
  offsetMinutes?: number;
  smscDefault?: Charset;
}

const BY_NUMBER: readonly ReceiptState[] = [
  "unknown",
  "enroute",
  "delivered",
  "expired",
  "deleted",
  "undeliverable",
  "accepted",
  "unknown",
  "rejected",
];

/** Known values of the `stat` field; SMPP 3.4 appendix B has the seven-letter ones. */
const BY_WORD: Readonly<Record<string, ReceiptState>> = {
  ENROUTE: "enroute",
  BUFFERED: "enroute",
  BUFFRED: "enroute",
  DELIVRD: "delivered",
  DELIVERED: "delivered",
  EXPIRED: "expired",
  DELETED: "deleted",
  UNDELIV: "undeliverable",
  UNDELIVERED: "undeliverable",
  UNDELIVERABLE: "undeliverable",
  FAILED: "undeliverable",
  ACCEPTD: "accepted",
  ACCEPTED: "accepted",
  UNKNOWN: "unknown",
  REJECTD: "rejected",
  REJECTED: "rejected",
};

const ESM_TYPE_MASK = 0x3c;
const ESM_RECEIPT = 0x04;
const ESM_INTERMEDIATE = 0x20;

/**
 * Reads the delivery receipt in a deliver_sm or data_sm; undefined when it is not one (a message from
 * a handset, an acknowledgement by its user). Optional parameters have priority over the text.
 */
export function parseReceipt(
  pdu: PduOf<"deliver_sm"> | PduOf<"data_sm">,
  options: ReceiptOptions = {},
): Receipt | undefined {
  const { body, tlvs } = pdu;
  const type = body.esmClass & ESM_TYPE_MASK;
  const isMarked = type === ESM_RECEIPT || type === ESM_INTERMEDIATE;
  const hasTlvs = tlvs.receiptedMessageId !== undefined && tlvs.messageState !== undefined;
  if (!isMarked && !(type === 0 && (hasTlvs || options.isTextEnough === true))) return undefined;
  const fields = readText(textOf(pdu, options.smscDefault ?? "latin1"));
  if (!isMarked && !hasTlvs && (fields.id === undefined || fields.stat === undefined)) {
    return undefined;
  }
  const network = tlvs.networkErrorCode;
  const networkError =
    network?.length === 3
      ? { type: network[0] as number, code: network.readUInt16BE(1) }
      : undefined;
  const offset = options.offsetMinutes ?? 0;
  const { messageState } = tlvs;
  const named = isNoId(tlvs.receiptedMessageId ?? "") ? undefined : tlvs.receiptedMessageId;
  const messageId = named ?? fields.id;
  return {
    messageId,
    textId: fields.id === messageId ? undefined : fields.id,
    isUnmarked: !isMarked && !hasTlvs,
    ...stateOf(messageState, fields.stat),
    errorCode: errorCodeOf(fields.err, networkError?.code),
    networkError,
    submittedAt: fields.submit && parseReceiptDate(fields.submit, offset),
    doneAt: fields.done && parseReceiptDate(fields.done, offset),
    recipient: body.sourceAddr,
    sender: body.destinationAddr,
  } as Receipt;
}

/** All zeros mean "no error"; some carriers never fill the field. */
function errorCodeOf(err: string | undefined, networkCode: number | undefined): string | undefined {
  if (networkCode === undefined) return err;
  return err === undefined || /^0+$/.test(err) ? networkCode.toString() : err;
}

function stateOf(
  messageState: number | undefined,
  word: string | undefined,
): Pick<Receipt, "state" | "rawState"> {
  const fromText = word === undefined ? undefined : BY_WORD[word.toUpperCase()];
  if (messageState === undefined) return { state: fromText ?? "unknown", rawState: word ?? "" };
  const state = BY_NUMBER[messageState];
  return { state: state ?? fromText ?? "unknown", rawState: word ?? messageState.toString() };
}

function textOf(pdu: PduOf<"deliver_sm"> | PduOf<"data_sm">, smscDefault: Charset): string {
  let octets = readPart(pdu).octets.subarray(0, 1024);
  const isWide = octets.length >= 4 && octets[0] === 0 && octets[2] === 0;
  // One vendor's codec writes a zero octet before the text.
  if (octets[0] === 0 && !isWide) octets = octets.subarray(1);
  const charset = isWide ? "ucs2" : (charsetOf(pdu.body.dataCoding, smscDefault) ?? "latin1");
  return decodeText(octets, charset);
}

interface TextFields {
  id?: string;
  submit?: string;
  done?: string;
  stat?: string;
  err?: string;
}

const NAME = "id|sub(?:mit)?[ _-]?date|done[ _-]?date|stat(?:us)?|err(?:or)?";

/** After an empty field comes the name of the next one, which is not a value. */
const FIELD = new RegExp(
  `(?:^|[\\s;,|])(${NAME})\\s*[:=]\\s*(?!(?:${NAME}|sub|dlvrd)\\s*[:=])([^\\s;,|]*)`,
  "gi",
);

function readText(raw: string): TextFields {
  const fields: TextFields = {};
  // Some carriers end the text, or its fields, with a zero octet.
  const text = raw.replaceAll("\0", " ");
  // The customer's own text follows `text:` and contains no fields.
  const end = /(?:^|\s)text\s*[:=]/i.exec(text)?.index ?? text.length;
  for (const [, name = "", value = ""] of text.slice(0, end).matchAll(FIELD)) {
    if (value === "") continue;
    const key = name.toLowerCase();
    if (key === "id") {
      if (!isNoId(value)) fields.id ??= value;
    } else if (key.startsWith("sub")) fields.submit ??= value;
    else if (key.startsWith("done")) fields.done ??= value;
    else if (key.startsWith("stat")) fields.stat ??= value;
    else if (/^[0-9a-z.-]{1,20}$/i.test(value)) fields.err ??= value;
  }
  return fields;
}

/** Writes the text of a receipt as in SMPP 3.4 appendix B; `text` is cut to 20 characters. */
export function formatReceipt(receipt: {
  messageId: string;
  word: string;
  errorCode: string;
  submittedAt: Date;
  doneAt: Date;
  text: string;
}): string {
  const { messageId, word, errorCode, submittedAt, doneAt, text } = receipt;
  const delivered = word === "DELIVRD" ? "001" : "000";
  return (
    `id:${messageId} sub:001 dlvrd:${delivered} submit date:${formatReceiptDate(submittedAt)} ` +
    `done date:${formatReceiptDate(doneAt)} stat:${word} err:${errorCode} text:${text.slice(0, 20)}`
  );
}
