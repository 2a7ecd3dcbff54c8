/** Maps messages, suppressions and keywords to and from protobuf. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  InboundAction as ActionProto,
  type InboundMessageSchema,
  type InboundNumberSchema,
  type Keywords as KeywordsProto,
  type KeywordsSchema,
  type InboundPart as PartProto,
  type SuppressionSchema,
} from "../../../proto/gen/sms/v1/consent_pb.js";
import { Encoding } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { invalidField } from "../../shared/core/limits.ts";
import type {
  InboundAction,
  InboundMessage,
  InboundNumber,
  InboundPart,
} from "../domain/inbound.ts";
import type { Keywords } from "../domain/keywords.ts";
import type { Consent } from "../domain/suppression.ts";

const ACTION_TO_PROTO: Readonly<Record<InboundAction, ActionProto>> = {
  opt_out: ActionProto.OPT_OUT,
  opt_in: ActionProto.OPT_IN,
  help: ActionProto.HELP,
};

export function readPart(part: PartProto): InboundPart {
  return {
    connectorId: part.connectorId,
    from: part.from,
    to: part.to,
    body: part.body,
    encoding: part.encoding === Encoding.UCS2 ? "ucs2" : "gsm7",
    reference: part.reference,
    total: part.total,
    sequence: part.sequence,
    receivedAtMs: Number(part.receivedAtMs),
    carrierMessageId: part.carrierMessageId,
  };
}

export function messageToProto(
  message: InboundMessage,
): MessageInitShape<typeof InboundMessageSchema> {
  return {
    id: message.id,
    tenantId: message.tenantId ?? "",
    from: message.from,
    to: message.to,
    body: message.body,
    encoding: message.encoding === "ucs2" ? Encoding.UCS2 : Encoding.GSM7,
    parts: message.parts,
    partsReceived: message.partsReceived,
    ...(message.action && { action: ACTION_TO_PROTO[message.action] }),
    connectorId: message.connectorId,
    receivedAtMs: BigInt(message.receivedAtMs),
  };
}

export function suppressionToProto(consent: Consent): MessageInitShape<typeof SuppressionSchema> {
  return {
    number: consent.number,
    sender: consent.sender,
    tenantId: consent.tenantId,
    source: consent.source,
    reason: consent.reason,
    createdAtMs: BigInt(consent.atMs),
  };
}

export function numberToProto(number: InboundNumber): MessageInitShape<typeof InboundNumberSchema> {
  const { createdAtMs, ...fields } = number;
  return { ...fields, createdAtMs: BigInt(createdAtMs) };
}

export function readKeywords(wire: KeywordsProto | undefined): Keywords {
  if (wire === undefined) throw invalidField("keywords", "required", "holds the tenant's words");
  const upper = (words: readonly string[]) => words.map((word) => word.trim().toUpperCase());
  return {
    optOut: upper(wire.optOut),
    optIn: upper(wire.optIn),
    help: upper(wire.help),
    replies: {
      opt_out: wire.optOutReply,
      opt_in: wire.optInReply,
      help: wire.helpReply,
    },
  };
}

export function keywordsToProto(keywords: Keywords): MessageInitShape<typeof KeywordsSchema> {
  const { replies } = keywords;
  return {
    optOut: [...keywords.optOut],
    optIn: [...keywords.optIn],
    help: [...keywords.help],
    optOutReply: replies.opt_out,
    optInReply: replies.opt_in,
    helpReply: replies.help,
  };
}
