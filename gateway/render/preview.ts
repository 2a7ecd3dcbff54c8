import type { SendMessagesResponse } from "../../proto/gen/sms/v1/messaging_pb.js";
import { MessageStatus } from "../../proto/gen/sms/v1/messaging_pb.js";
import { formatAmount } from "../../services/shared/core/money.ts";
import {
  charactersOutsideGsm7,
  describeText,
  lastSegmentRoom,
} from "../../services/shared/core/segments.ts";

/** The reason why a send would be refused. */
export type Refusal = {
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
};

const CHARACTERS_MAX = 100;
const POSITIONS_MAX = 100;

/** Renders the facts that depend on the text alone. An empty text has no segment. */
export function renderText(body: string) {
  const { encoding, segments } = describeText(body);
  const room = lastSegmentRoom(body);
  const outside = [...charactersOutsideGsm7(body)].slice(0, CHARACTERS_MAX);
  return {
    encoding,
    characters: [...body].length,
    segments: body === "" ? 0 : segments,
    last_segment: room,
    non_gsm7_characters: outside.map(([character, positions]) => ({
      character,
      code_point: `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`,
      positions: positions.slice(0, POSITIONS_MAX),
    })),
  };
}

/** Renders the price of an estimate of one recipient, or why there is none. */
export function renderPricing(estimate?: SendMessagesResponse, refusal?: Refusal) {
  const [entry] = estimate?.entries ?? [];
  if (estimate === undefined || entry === undefined) {
    return { to: null, unit_price: null, amount: null, currency: null, refusal: refusal ?? null };
  }
  const { to, segments, heldAmount, error } = entry;
  if (entry.status === MessageStatus.REJECTED) {
    const { code = "", message = "" } = error ?? {};
    const why = { field: "to", code, message };
    return { to: null, unit_price: null, amount: null, currency: null, refusal: why };
  }
  return {
    to,
    unit_price: formatAmount(heldAmount / BigInt(Math.max(1, segments))),
    amount: formatAmount(heldAmount),
    currency: estimate.currency,
    refusal: null,
  };
}
