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
import { STATUS } from "../../../shared/smpp/statuses.ts";
import type { SubmitOutcome } from "../../../shared/smpp/submit-outcome.ts";
import type { Tlvs } from "../../../shared/smpp/tlvs.ts";
import type { ClaimedMessage, IncomingReceipt, PartOutcome } from "../../domain/message.ts";
import { normalizeAddress, readReceipt } from "../../domain/receipt.ts";
import type { Link, LinkEvents, LinkStatus } from "./link.ts";

/** A submit_sm waiting to be sent. */
type SmppPayload = {
  readonly fields: Partial<PduBody<"submit_sm">>;
  /** Without the message's name, which each submit adds as the carrier is known by then. */
  readonly tlvs: Tlvs | undefined;
};

/**
 * Names the message to carriers that recognise a repeat, in a parameter of the vendors' range
 * (SMPP 3.4 section 5.3.2). Others ignore what they do not know (section 3.3.1); one that refuses it
 * is not told again.
 */
const MESSAGE_NAME_TAG = 0x1500;

/** Refusals that may be about an optional parameter. */
const PARAMETER_STATUSES: ReadonlySet<number> = new Set([
  STATUS.ESME_RINVOPTPARSTREAM,
  STATUS.ESME_ROPTPARNOTALLWD,
  STATUS.ESME_RINVPARLEN,
  // A carrier of before version 3.4 finds octets behind the fields that it knows.
  STATUS.ESME_RINVCMDLEN,
  STATUS.ESME_RINVOPTPARAMVAL,
]);

/** How the ids of answers and of receipts are read. */
type IdForms = { readonly answer: MessageIdForm; readonly receipt: MessageIdForm };

/** What each setting of a receipt's id form stands for. */
const ID_FORMS: Readonly<Record<string, IdForms>> = {
  as_is: { answer: "auto", receipt: "auto" },
  hex_to_decimal: { answer: "hex", receipt: "decimal" },
  decimal_to_hex: { answer: "decimal", receipt: "hex" },
};

/** Makes one SMPP bind of a connector. */
export function createSmppLink(options: {
  readonly connectorId: string;
  readonly settings: SmppSettings;
  readonly events: LinkEvents;
  readonly log: Logger;
  readonly clock: Clock;
}): Link {
  const { connectorId, settings, events, log, clock } = options;
  const forms = ID_FORMS[settings.receiptIdForm] ?? { answer: "auto", receipt: "auto" };
  let status: LinkStatus = "down";
  let lastError = "";
  let isNaming = true;

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
    beforeWrite: (tokens) => events.beforeWrite(tokens.map((token) => readToken(token).messageId)),
    onDeliver: (message) =>
      deliver(message).catch((error: unknown) => {
        log.warn({ error, connector: connectorId }, "what a carrier delivered was put off");
        throw error;
      }),
    onLateAnswer(token, outcome) {
      const { messageId, index, isNamed } = readToken(token);
      events.onLateAnswer(messageId, index, readOutcome(outcome, isNamed));
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
   * What an answer means for its part. Submits leave by the window, so many that bear the name may be under way
   * when the first of them is refused: each answer is judged by what its own submit bore. Such a refusal
   * is the name's fault, not the message's: the carrier has nothing of it, and without the name it
   * may go again at once.
   */
  function readOutcome(outcome: SubmitOutcome, isNamed: boolean): PartOutcome {
    if (!isNamed || outcome.kind !== "refused" || !PARAMETER_STATUSES.has(outcome.status)) {
      return toPartOutcome(outcome);
    }
    isNaming = false;
    return { kind: "not_sent", code: outcome.statusName };
  }

  async function deliver(message: IncomingMessage): Promise<void> {
    const receipt = parseReceipt(message, { isTextEnough: true });
    if (receipt === undefined) return events.onMobileOriginated();
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
    prepare: (message) => prepare(message, settings),
    async submit({ messageId, index, payload }) {
      const { fields, tlvs } = payload as SmppPayload;
      const isNamed = isNaming;
      const token = writeToken({ messageId, index, isNamed });
      const outcome = await client.submit(
        fields,
        isNamed ? withName(tlvs, messageId) : tlvs,
        token,
      );
      return readOutcome(outcome, isNamed);
    },
    keyOf: (carrierMessageId) => canonicalMessageId(carrierMessageId, forms.answer),
    close: (drainMs) => client.close({ drainMs }),
  };
}

function withName(tlvs: Tlvs | undefined, messageId: string): Tlvs {
  return { ...tlvs, other: [{ tag: MESSAGE_NAME_TAG, value: Buffer.from(messageId) }] };
}

function prepare(message: ClaimedMessage, settings: SmppSettings) {
  const { messageId, to, from, encoding } = message;
  const reference = referenceOf(messageId);
  const parts = splitMessage({
    segments: splitText(message.body).segments,
    encoding: settings.defaultCharset === "ucs2" ? "ucs2" : encoding,
    reference,
    concatenator: (settings.longMessage || "udh8") as Concatenator,
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
 * Under which keys a receipt's submission may be kept, the likeliest first. Where the optional parameter and the
 * text name two ids, the parameter may be written as the answer was, and the text otherwise, or the other way
 * round: an id that both readings have in common is it.
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

/**
 * Ties the segments of one message together: a hash, so that a message which is submitted again, over a
 * route that recognises repeats, fits what arrived of it before. Of 8 bits two messages share one in 256.
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

/** What must be known of a submit when its answer comes, however late. */
type Token = { readonly messageId: string; readonly index: number; readonly isNamed: boolean };

function writeToken({ messageId, index, isNamed }: Token): string {
  return `${messageId}/${index}/${isNamed ? "named" : ""}`;
}

function readToken(token: string): Token {
  const [messageId = "", index, name] = token.split("/");
  return { messageId, index: Number(index), isNamed: name === "named" };
}

function toPartOutcome(outcome: SubmitOutcome): PartOutcome {
  switch (outcome.kind) {
    case "accepted":
      // The same no-id for every message would make each receipt fit the newest of them.
      return {
        kind: "accepted",
        carrierMessageId: isNoId(outcome.messageId) ? "" : outcome.messageId,
      };
    case "refused":
      return { kind: "refused", code: outcome.statusName, disposition: outcome.disposition };
    case "unknown":
      return { kind: "unknown", code: outcome.reason };
    case "not_sent":
      // What cannot be encoded cannot be sent over this carrier, today or tomorrow.
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
