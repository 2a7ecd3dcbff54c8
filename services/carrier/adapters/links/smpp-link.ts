import type { SmppSettings } from "../../../../proto/gen/sms/v1/routing_pb.js";
import type { Clock } from "../../../shared/core/clock.ts";
import type { Logger } from "../../../shared/core/logger.ts";
import { splitText } from "../../../shared/core/segments.ts";
import { recipientAddress, senderAddress } from "../../../shared/smpp/addresses.ts";
import { createSmppClient } from "../../../shared/smpp/client.ts";
import type { IncomingMessage, LinkInfo, LinkState } from "../../../shared/smpp/client-options.ts";
import {
  canonicalMessageId,
  isNoId,
  type MessageIdForm,
  messageIdCandidates,
} from "../../../shared/smpp/message-ids.ts";
import { type Concatenator, splitMessage } from "../../../shared/smpp/message-parts.ts";
import type { PduBody } from "../../../shared/smpp/pdu.ts";
import { parseReceipt, type Receipt } from "../../../shared/smpp/receipts.ts";
import type { SubmitOutcome } from "../../../shared/smpp/submit-outcome.ts";
import type { Tlvs } from "../../../shared/smpp/tlvs.ts";
import type { Link, LinkEvents, LinkStatus } from "../../app/link.ts";
import type { ClaimedMessage, IncomingReceipt, PartOutcome } from "../../domain/message.ts";
import {
  createOptionalParameters,
  type OptionalParameters,
} from "../../domain/optional-parameters.ts";
import { normalizeAddress, readReceipt } from "../../domain/receipt.ts";
import {
  refusedWith,
  type SubmitErrorCodes,
  smppSubmitErrors,
} from "../../domain/submit-error-codes.ts";
import { smppThrottleScopes, type ThrottleScopes, throttled } from "../../domain/throttling.ts";
import { readInbound } from "./read-inbound.ts";

/** A prepared submit_sm. */
type SmppPayload = {
  readonly fields: Partial<PduBody<"submit_sm">>;
  /** The parameters that concatenate or hold the text, if any; `submit` adds the one with the message id. */
  readonly tlvs: Tlvs | undefined;
};

/**
 * Carries our message id in a parameter of the vendor range (SMPP 3.4 section 5.3.2), so that a carrier can recognise
 * a duplicate. Carriers ignore unknown parameters (section 3.3.1); `optional-parameters.ts` decides when to leave it
 * out.
 */
const MESSAGE_ID_TAG = 0x1500;

/** The outcome of a part that was prepared with optional parameters while the link sends none. */
const NO_PARAMETERS: PartOutcome = { kind: "not_sent", code: "no_optional_parameters" };

/** The notation of message ids in answers and in receipts. */
type IdForms = { readonly answer: MessageIdForm; readonly receipt: MessageIdForm };

/** The values of the setting `receipt_id_form`. */
const ID_FORMS: Readonly<Record<string, IdForms>> = {
  as_is: { answer: "auto", receipt: "auto" },
  hex_to_decimal: { answer: "hex", receipt: "decimal" },
  decimal_to_hex: { answer: "decimal", receipt: "hex" },
};

/** Creates one SMPP bind of a connector. */
export function createSmppLink(options: {
  readonly connectorId: string;
  readonly settings: SmppSettings;
  readonly events: LinkEvents;
  readonly log: Logger;
  readonly clock: Clock;
  /** Decides whether submits carry optional parameters; the binds of the connector share it. */
  readonly parameters?: OptionalParameters;
}): Link {
  const { connectorId, settings, events, log, clock } = options;
  const { parameters = createOptionalParameters(settings.optionalParameters) } = options;
  const scopes = smppThrottleScopes(settings.throttleScopes);
  const submitErrors = smppSubmitErrors(settings.submitErrorCodes);
  const forms = ID_FORMS[settings.receiptIdForm] ?? { answer: "auto", receipt: "auto" };
  let status: LinkStatus = "down";
  let lastError = "";

  const client = createSmppClient({
    host: settings.host,
    port: settings.port,
    ...(settings.tls ? { tls: tlsOptions(settings) } : {}),
    systemId: settings.systemId,
    password: settings.password,
    systemType: settings.systemType,
    mode: settings.bindMode as "transceiver" | "transmitter" | "receiver",
    windowMax: settings.window,
    queueMax: settings.window + 256,
    responseTimeoutMs: settings.responseTimeoutMs,
    enquireLinkIntervalMs: settings.enquireLinkIntervalMs,
    beforeWrite: (tokens) => events.beforeWrite(tokens.map(readToken)),
    onDeliver: (message) =>
      deliver(message).catch((error: unknown) => {
        log.warn({ error, connector: connectorId }, "a delivery from a carrier was refused");
        throw error;
      }),
    onLateAnswer(token, outcome) {
      const { messageId, index, hasParameters } = readToken(token);
      events.onLateAnswer(messageId, index, readOutcome(outcome, hasParameters));
    },
    onState(state, info) {
      status = statusOf(state);
      if (state === "waiting") {
        lastError = describe(info);
        log.warn({ connector: connectorId, reason: lastError }, "the link is down");
      } else log.info({ connector: connectorId, link: state }, "the link changed");
      events.onChange();
    },
  });

  /**
   * Maps an answer to the outcome of its part. A refusal of the parameters is not a refusal of the message: the
   * carrier has nothing of the message, which may go again at once without parameters. Several submits with parameters
   * may be in flight at the first such refusal, so `hadParameters` belongs to the answered submit.
   */
  function readOutcome(outcome: SubmitOutcome, hadParameters: boolean): PartOutcome {
    const isOfParameters = parameters.note(outcome, hadParameters);
    if (!isOfParameters || outcome.kind !== "refused")
      return toPartOutcome(outcome, scopes, submitErrors);
    return { kind: "not_sent", code: outcome.statusName };
  }

  async function deliver(message: IncomingMessage): Promise<void> {
    const receipt = parseReceipt(message, { isTextEnough: true });
    if (receipt === undefined) {
      return events.onInbound(readInbound(message, charsetOf(settings.defaultCharset)));
    }
    const { verdict, errorCode } = readReceipt(
      receipt.state,
      receipt.errorCode,
      settings.errorCodes,
    );
    const incoming: IncomingReceipt = {
      connectorId,
      keys: keysOf(receipt, forms),
      ...(receipt.isUnmarked ? { isUnmarked: true } : {}),
      verdict,
      errorCode,
      carrierCode: carrierCode(receipt.rawState, receipt.errorCode),
      occurredAtMs: receipt.doneAt?.getTime() ?? clock.now(),
      to: normalizeAddress(receipt.recipient),
      from: normalizeAddress(receipt.sender),
      messageId: "",
      ...tookMs(receipt),
    };
    await events.onReceipt(incoming);
  }

  return {
    get status() {
      return status;
    },
    get lastError() {
      return status === "bound" ? "" : lastError;
    },
    get inFlight() {
      return client.inFlight + client.queued;
    },
    // Over a receiver bind nothing can be submitted (SMPP 3.4 section 2.3).
    window: settings.bindMode === "receiver" ? 0 : settings.window,
    start: () => client.start(),
    prepare: (message) => prepare(message, settings, parameters.isOn(client.peerVersion)),
    async submit({ messageId, index, payload }) {
      const { fields, tlvs } = payload as SmppPayload;
      const isOn = parameters.isOn(client.peerVersion);
      // Prepared with parameters, which the carrier does not take now: the message returns to its queue, to be
      // prepared without.
      if (tlvs !== undefined && !isOn && index === 0) return NO_PARAMETERS;
      const hasParameters = isOn || tlvs !== undefined;
      const token = writeToken({ messageId, index, hasParameters });
      const all = isOn ? withMessageId(tlvs, messageId) : tlvs;
      return readOutcome(await client.submit(fields, all, token), hasParameters);
    },
    keyOf: (carrierMessageId) => canonicalMessageId(carrierMessageId, forms.answer),
    close: (drainMs) => client.close({ drainMs }),
  };
}

/** Long messages that need parameters go with a user data header when the carrier takes none. */
function concatenatorOf({ longMessage }: SmppSettings, hasParameters: boolean): Concatenator {
  const wanted = (longMessage || "udh8") as Concatenator;
  return hasParameters || wanted === "udh16" ? wanted : "udh8";
}

function withMessageId(tlvs: Tlvs | undefined, messageId: string): Tlvs {
  return { ...tlvs, other: [{ tag: MESSAGE_ID_TAG, value: Buffer.from(messageId) }] };
}

function prepare(message: ClaimedMessage, settings: SmppSettings, hasParameters: boolean) {
  const { messageId, to, from, encoding } = message;
  const reference = referenceOf(messageId);
  const parts = splitMessage({
    segments: splitText(message.body).segments,
    encoding: settings.defaultCharset === "ucs2" ? "ucs2" : encoding,
    reference,
    concatenator: concatenatorOf(settings, hasParameters),
    charset: charsetOf(settings.defaultCharset),
    // The setting says what data_coding 0 means to this carrier.
    dataCoding: 0,
  });
  const source = senderAddress(from, override(settings.sourceTon, settings.sourceNpi));
  const target = recipientAddress(to, override(settings.destinationTon, settings.destinationNpi));
  return parts.map((part, index) => {
    const fields: Partial<PduBody<"submit_sm">> = {
      sourceAddrTon: source.ton,
      sourceAddrNpi: source.npi,
      sourceAddr: source.address,
      destAddrTon: target.ton,
      destAddrNpi: target.npi,
      destinationAddr: target.address,
      esmClass: part.esmClass,
      registeredDelivery: 1,
      dataCoding: part.dataCoding,
      shortMessage: part.shortMessage,
    };
    return { messageId, index, payload: { fields, tlvs: part.tlvs } satisfies SmppPayload };
  });
}

/**
 * The keys under which the store may have a receipt's submission, the likeliest first. When the optional parameter and
 * the text hold different ids, one of them may use the notation of answers and the other that of receipts: a key that
 * both can mean comes first.
 */
function keysOf({ messageId, textId }: Receipt, forms: IdForms): string[] {
  if (messageId === undefined) return [];
  const keys = messageIdCandidates(messageId, forms.receipt);
  if (textId === undefined) return keys;
  const ofParameter = [...keys, canonicalMessageId(messageId, forms.answer)];
  const ofText = messageIdCandidates(textId, forms.receipt);
  const common = ofParameter.filter((key) => ofText.includes(key));
  return [...new Set([...common, ...ofParameter, ...ofText])];
}

function tookMs({ submittedAt, doneAt }: Receipt): { readonly tookMs?: number } {
  if (submittedAt === undefined || doneAt === undefined) return {};
  return { tookMs: doneAt.getTime() - submittedAt.getTime() };
}

/**
 * The concatenation reference of a message's segments. It is a hash of the message id, so that segments of a repeated
 * submit fit those that arrived earlier. With 8 bits two messages share a reference with probability 1/256.
 */
function referenceOf(messageId: string): number {
  let hash = 0;
  for (let at = 0; at < messageId.length; at++) {
    hash = (Math.imul(hash, 31) + messageId.charCodeAt(at)) | 0;
  }
  return (hash ^ (hash >>> 16)) & 0xffff;
}

function charsetOf(name: string): "gsm7" | "latin1" | "ascii" {
  return name === "latin1" || name === "ascii" ? name : "gsm7";
}

function override(ton: number | undefined, npi: number | undefined) {
  return {
    ...(ton === undefined || ton < 0 ? {} : { ton }),
    ...(npi === undefined || npi < 0 ? {} : { npi }),
  };
}

function tlsOptions(settings: SmppSettings) {
  return {
    servername: settings.tlsServerName || settings.host,
    ...(settings.tlsCa === "" ? {} : { ca: settings.tlsCa }),
  };
}

/** The facts of a submit that a late answer still needs; the SMPP client returns it with the answer. */
type Token = {
  readonly messageId: string;
  readonly index: number;
  readonly hasParameters: boolean;
};

function writeToken({ messageId, index, hasParameters }: Token): string {
  return `${messageId}/${index}/${hasParameters ? "parameters" : ""}`;
}

function readToken(token: string): Token {
  const [messageId = "", index, parameters] = token.split("/");
  return { messageId, index: Number(index), hasParameters: parameters === "parameters" };
}

function toPartOutcome(
  outcome: SubmitOutcome,
  scopes: ThrottleScopes,
  submitErrors: SubmitErrorCodes,
): PartOutcome {
  switch (outcome.kind) {
    case "accepted":
      // Drop an id that is a placeholder, such as zeros: each receipt would match the newest message.
      return {
        kind: "accepted",
        carrierMessageId: isNoId(outcome.messageId) ? "" : outcome.messageId,
      };
    case "refused": {
      const errorCode = submitErrors.get(outcome.status);
      if (errorCode !== undefined) return refusedWith(outcome.statusName, errorCode);
      const scope = scopes.get(outcome.status);
      if (scope !== undefined) return throttled(outcome.statusName, scope);
      return { kind: "refused", code: outcome.statusName, disposition: outcome.disposition };
    }
    case "unknown":
      return { kind: "unknown", code: outcome.reason };
    case "not_sent":
      // Refuse a message that cannot be encoded for this carrier: a retry would fail in the same way.
      return outcome.reason === "unencodable"
        ? { kind: "refused", code: "unencodable", disposition: "permanent" }
        : { kind: "not_sent", code: outcome.reason };
  }
}

function statusOf(state: LinkState): LinkStatus {
  if (state === "bound") return "bound";
  return state === "connecting" || state === "binding" ? "connecting" : "down";
}

function describe(info: LinkInfo): string {
  const status = info.status === undefined ? "" : ` status 0x${info.status.toString(16)}`;
  return `${info.reason ?? "down"}${status}${info.error === undefined ? "" : `: ${info.error.message}`}`;
}

function carrierCode(rawState: string, errorCode: string | undefined): string {
  return errorCode === undefined ? rawState : `${rawState}/${errorCode}`;
}
