/** Inbound messages: their parts, and the tenant that owns them. */
import { createHash } from "node:crypto";
import { normaliseNumber } from "../../shared/core/phone.ts";
import type { Encoding } from "../../shared/core/segments.ts";

/** One part of a message, as a carrier delivered it. */
export type InboundPart = {
  readonly connectorId: string;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly encoding: Encoding;
  /** 0 for a message in one part. */
  readonly reference: number;
  readonly total: number;
  /** From 1. */
  readonly sequence: number;
  readonly receivedAtMs: number;
  /** The carrier's own id of the message; empty when it gives none. */
  readonly carrierMessageId: string;
};

/** A number that handsets write to, and the tenant that gets the messages with this keyword. */
export type InboundNumber = {
  readonly id: string;
  /** Digits. */
  readonly number: string;
  readonly tenantId: string;
  /** Upper case; empty: every message without another tenant's keyword. */
  readonly keyword: string;
  /** The sender ID that an opt-out blocks; empty blocks all. */
  readonly sender: string;
  readonly createdAtMs: number;
};

/** The request of a handset. */
export type InboundAction = "opt_out" | "opt_in" | "help";

/** A whole message, or its parts that arrived. */
export type InboundMessage = {
  readonly id: string;
  /** Undefined when no tenant owns it. */
  readonly tenantId: string | undefined;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly encoding: Encoding;
  readonly parts: number;
  readonly partsReceived: number;
  readonly action: InboundAction | undefined;
  readonly connectorId: string;
  readonly receivedAtMs: number;
};

const ADDRESS_CHARS_MAX = 32;
/** A part has at most 160 characters; some carriers put a whole text into one. */
const BODY_CHARS_MAX = 4096;
const PARTS_MAX = 255;
const CARRIER_ID_CHARS_MAX = 128;

/** A part within its bounds: addresses as numbers, and an impossible concatenation as one part. */
export function normalisePart(part: InboundPart): InboundPart {
  const from = part.from.slice(0, ADDRESS_CHARS_MAX);
  const isPart = part.total > 1 && part.total <= PARTS_MAX && part.sequence >= 1;
  const isInside = isPart && part.sequence <= part.total;
  return {
    ...part,
    from: normaliseNumber(from) ?? normaliseNumber(`+${from}`) ?? from,
    to: part.to.replace(/\D/g, "").slice(0, ADDRESS_CHARS_MAX),
    // A cut or a carrier may leave half of a surrogate pair.
    body: part.body.slice(0, BODY_CHARS_MAX).toWellFormed(),
    carrierMessageId: part.carrierMessageId.slice(0, CARRIER_ID_CHARS_MAX).toWellFormed(),
    ...(isInside ? {} : { reference: 0, total: 1, sequence: 1 }),
  };
}

/**
 * A key that is the same for repeats of a message in one part, and for all parts of one message in several. The
 * carrier's id counts together with parties and text, because some carriers use their ids again.
 */
export function groupKey(part: InboundPart): string {
  const { connectorId, from, to, reference, total, body, carrierMessageId } = part;
  const id = carrierMessageId === "" ? [] : [carrierMessageId];
  const content = total === 1 ? [body, ...id] : [];
  return hash([connectorId, from, to, String(reference), String(total), ...content]);
}

/** The time in which the same message again is a repeat, when the carrier gives no id. */
const REPEAT_MS = 3_600_000;
/** The same time when the carrier gives an id: longer than carriers send one message again. */
const REPEAT_BY_ID_MS = 86_400_000;

/** How long the same message again counts as a repeat, unless a confirmation ends it earlier. */
export function repeatWindowMs({ carrierMessageId }: Pick<InboundPart, "carrierMessageId">) {
  return carrierMessageId === "" ? REPEAT_MS : REPEAT_BY_ID_MS;
}

/** True for a part whose repeats can be distinguished from new messages only by its acknowledgement. */
export function needsConfirmation({ total, carrierMessageId }: InboundPart): boolean {
  return total === 1 && carrierMessageId === "";
}

function hash(values: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(values)).digest("base64url");
}

/** The text of the parts that arrived, in order. */
export function joinParts(parts: ReadonlyMap<number, string>): string {
  return [...parts.entries()]
    .sort(([a], [b]) => a - b)
    .map(([, body]) => body)
    .join("");
}

/**
 * Finds the owner of a message: the number's row whose keyword is the first word, else its row without a keyword.
 * `text` is what follows the keyword.
 */
export function findOwner(
  rows: readonly InboundNumber[],
  body: string,
): { readonly owner: InboundNumber | undefined; readonly text: string } {
  const trimmed = body.trim();
  const [first = ""] = trimmed.split(/\s+/, 1);
  const word = first.toUpperCase();
  const byKeyword = rows.find(({ keyword }) => keyword !== "" && keyword === word);
  if (byKeyword !== undefined) {
    return { owner: byKeyword, text: trimmed.slice(first.length).trim() };
  }
  return { owner: rows.find(({ keyword }) => keyword === ""), text: trimmed };
}
