/** The RPCs of messaging: proto ↔ domain and nothing else. */
import { randomBytes } from "node:crypto";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import {
  type ClaimedMessage as ClaimedMessageProto,
  type ClaimMessagesResponse,
  type ClaimResult,
  Encoding,
  type MessagingService,
  OutcomeKind,
  ReceiptState,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError, isErrorCode } from "../../shared/core/errors.ts";
import { createDataLoader } from "../../shared/flow/data-loader.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import type { MessagingClient } from "../app/ports.ts";
import type {
  ClaimedMessage,
  MatchedReceipt,
  Outcome,
  OutcomeKind as OutcomeName,
  ReceiptVerdict,
} from "../domain/message.ts";

const OUTCOMES: Readonly<Record<OutcomeName, OutcomeKind>> = {
  accepted: OutcomeKind.ACCEPTED,
  refused: OutcomeKind.REFUSED,
  not_sent: OutcomeKind.NOT_SENT,
  unknown: OutcomeKind.UNKNOWN,
  partly_refused: OutcomeKind.PARTLY_REFUSED,
};
const STATES: Readonly<Record<ReceiptVerdict, ReceiptState>> = {
  delivered: ReceiptState.DELIVERED,
  undelivered: ReceiptState.UNDELIVERED,
  acknowledged: ReceiptState.ACKNOWLEDGED,
};

/** The epoch of a process; the epochs of one identity sort by the start of their processes. */
function epochOf(start: number): string {
  return `r${start.toString(36).padStart(8, "0")}${randomBytes(4).toString("hex")}`;
}

type Claim = {
  readonly connectorId: string;
  readonly carrierId: string;
  readonly wanted: () => number;
  readonly claimCall: string;
};

/**
 * The interval between claim calls; claims of all connectors in it share one call (ADR 74). Messages claimed ahead
 * last 100 ms, more than twice as long.
 */
const CLAIM_INTERVAL_MS = 40;
const CLAIMS_PER_CALL = 64;
/** The maximum number of partly written messages that one recovery continues; the others stay in doubt as a whole. */
const PARTLY_WRITTEN_MAX = 2000;

function createClaimLoader(client: Client<typeof MessagingService>) {
  return createDataLoader<Claim, ClaimMessagesResponse>({
    name: "claims",
    batchMax: CLAIMS_PER_CALL,
    minIntervalMs: CLAIM_INTERVAL_MS,
    load: async (claims) => {
      const { results } = await rpcAnswer(client.claimMany({ claims: claims.map(toRequest) }));
      return claims.map((_, at) => readResult(results[at]));
    },
  });
}

/** `wanted` is called when the request leaves: slots may have become free since the claim was queued. */
function toRequest({ wanted, ...claim }: Claim) {
  return { ...claim, max: Math.max(1, wanted()) };
}

function readResult(one: ClaimResult | undefined): ClaimMessagesResponse | Error {
  const result = one?.result;
  if (result?.case === "response") return result.value;
  const code = result?.value ?? "";
  return new AppError(isErrorCode(code) ? code : "internal_error", "The claim failed.");
}

/** Creates the client of one claiming identity; `start` counts the processes of that identity. */
export function createMessagingClient(
  client: Client<typeof MessagingService>,
  { carrierId, start }: { readonly carrierId: string; readonly start: number },
): MessagingClient {
  /** Claims without a reported outcome: message id to claim id. */
  const held = new Map<string, string>();
  /** Numbers the claim calls of this process, so that it can say which have ended. */
  const epoch = epochOf(start);
  const openCalls = new Set<number>();
  let lastCall = 0;
  const loadClaim = createClaimLoader(client);

  async function claimNumbered(connectorId: string, wanted: () => number) {
    lastCall += 1;
    const call = lastCall;
    openCalls.add(call);
    try {
      const claimCall = `${epoch}.${call}`;
      const answer = await loadClaim({ connectorId, carrierId, wanted, claimCall });
      for (const { messageId, claimId } of answer.messages) held.set(messageId, claimId);
      return answer;
    } finally {
      openCalls.delete(call);
    }
  }

  return {
    async claim(connectorId, wanted) {
      const { messages, more } = await claimNumbered(connectorId, wanted);
      return { more, messages: messages.map(toClaimedMessage) };
    },
    waitingConnectors: async () => (await client.listWaitingConnectors({})).connectorIds,
    async reportOutcomes(outcomes) {
      const { staleMessageIds, provenMessageIds } = await client
        .reportOutcomes({ outcomes: outcomes.map(toReportedOutcome) })
        .catch(throwUnavailable);
      for (const { messageId, claimId } of outcomes) {
        // The message may have been claimed again before this answer came.
        if (held.get(messageId) === claimId) held.delete(messageId);
      }
      return { stale: staleMessageIds, proven: provenMessageIds };
    },
    async recordReceipts(receipts) {
      const { unknownMessageIds } = await client
        .recordReceipts({ receipts: receipts.map(toReceipt) })
        .catch(throwUnavailable);
      return unknownMessageIds;
    },
    async renewClaims() {
      const ended = Math.min(lastCall + 1, ...openCalls) - 1;
      const endedClaimCalls = `${epoch}.${ended}`;
      const heldMessageIds = [...held.keys()];
      await client.renewClaims({ carrierId, heldMessageIds, listsHeld: true, endedClaimCalls });
    },
    async recoverClaims(written, partlyWritten) {
      const { partlyWritten: left, ...counts } = await client.recoverClaims({
        ...{ carrierId, epoch },
        writtenMessageIds: [...written],
        partlyWrittenMessageIds: partlyWritten.slice(0, PARTLY_WRITTEN_MAX),
      });
      return { ...counts, partlyWritten: left.map(toClaimedMessage) };
    },
  };
}

function toClaimedMessage(message: ClaimedMessageProto): ClaimedMessage {
  return {
    messageId: message.messageId,
    claimId: message.claimId,
    to: message.to,
    from: message.from,
    body: message.body,
    encoding: message.encoding === Encoding.UCS2 ? "ucs2" : "gsm7",
    segments: message.segments,
    attempt: message.attempt,
    queueUntilMs: Number(message.queueUntilMs),
    traceparent: message.traceparent || undefined,
    openSpan:
      message.openUntilMs === 0n
        ? undefined
        : { fromMs: Number(message.openFromMs), untilMs: Number(message.openUntilMs) },
  };
}

function toReportedOutcome(outcome: Outcome) {
  return {
    messageId: outcome.messageId,
    claimId: outcome.claimId,
    kind: OUTCOMES[outcome.kind],
    carrierCode: outcome.carrierCode,
    errorCode: outcome.errorCode,
    retryAtMs: BigInt(Math.round(outcome.retryAtMs)),
    isIncomplete: outcome.isIncomplete === true,
    occurredAtMs: BigInt(Math.round(outcome.occurredAtMs)),
  };
}

function toReceipt(receipt: MatchedReceipt) {
  return {
    messageId: receipt.messageId,
    segment: receipt.segment,
    parts: receipt.parts,
    state: STATES[receipt.verdict],
    errorCode: receipt.errorCode,
    carrierCode: receipt.carrierCode,
    occurredAtMs: BigInt(Math.round(receipt.occurredAtMs)),
    isSegmentGuessed: receipt.isSegmentGuessed,
    partKey: receipt.partKey,
    connectorId: receipt.connectorId,
  };
}

/** Errors after which the same call may succeed later. */
const OUTAGES: ReadonlySet<string> = new Set([
  "service_unavailable",
  "request_timeout",
  "rate_limited",
]);

/** Whether messaging was unavailable, so that the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  return isTokenRefused(error) || OUTAGES.has(toAppError(error).code);
}

/** Whether messaging refused our token: an outage, because the service tokens may be in the middle of a rotation. */
function isTokenRefused(error: unknown): boolean {
  const status = error instanceof AppError ? error.cause : error;
  return status instanceof ConnectError && status.code === Code.Unauthenticated;
}

function throwUnavailable(error: unknown): never {
  if (!isOutage(error)) throw error;
  throw new AppError("service_unavailable", "Messaging is unavailable.", { cause: error });
}
