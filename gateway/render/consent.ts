import {
  type AddSuppressionsResponse,
  InboundAction,
  type InboundMessage,
  type Suppression,
} from "../../proto/gen/sms/v1/consent_pb.js";
import { Encoding } from "../../proto/gen/sms/v1/messaging_pb.js";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { csvText } from "./csv-text.ts";
import { textOrNull } from "./message.ts";
import { renderRowFaults } from "./row-faults.ts";

const ACTIONS: Readonly<Record<InboundAction, string | null>> = {
  [InboundAction.UNSPECIFIED]: null,
  [InboundAction.OPT_OUT]: "opt_out",
  [InboundAction.OPT_IN]: "opt_in",
  [InboundAction.HELP]: "help",
};

/** Renders a message from a handset. */
export function renderInbound(message: InboundMessage) {
  return {
    id: message.id,
    object: "inbound_message",
    from: message.from,
    to: message.to,
    body: message.body,
    encoding: message.encoding === Encoding.UCS2 ? "ucs2" : "gsm7",
    parts: message.parts,
    complete: message.partsReceived === message.parts,
    action: ACTIONS[message.action],
    received_at: formatInstant(Number(message.receivedAtMs)),
  };
}

/** Renders a suppression. */
export function renderSuppression(suppression: Suppression) {
  return {
    object: "suppression",
    number: suppression.number,
    sender_id: textOrNull(suppression.sender),
    source: suppression.source,
    reason: textOrNull(suppression.reason),
    created_at: formatInstant(Number(suppression.createdAtMs)),
  };
}

/** Renders suppressions as CSV, in the form that an import accepts. */
export function renderSuppressionsCsv(suppressions: readonly Suppression[]): string {
  const header = ["number", "sender", "source", "reason", "created_at"];
  const rows = suppressions.map(({ number, sender, source, reason, createdAtMs }) => [
    number,
    sender,
    source,
    reason,
    formatInstant(Number(createdAtMs)),
  ]);
  return csvText([header, ...rows], [3]);
}

/** Renders the result of adding suppressions. */
export function renderSuppressionImport(made: AddSuppressionsResponse) {
  const faults = renderRowFaults(made.faults);
  const { added, unchanged, rejected } = made;
  return { object: "suppression_import", added, unchanged, rejected, faults };
}
