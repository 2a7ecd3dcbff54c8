/** The carrier's side of messaging's RPCs: proto ↔ domain and nothing else. */
import { randomBytes } from "node:crypto";
import type { Client } from "@connectrpc/connect";
import {
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
import type {
  ClaimedMessage,
  MatchedReceipt,
  Outcome,
  OutcomeKind as OutcomeName,
  ReceiptVerdict,
} from "../domain/message.ts";

/** What a carrier asks of messaging. Each call throws when it cannot be answered. */
export type MessagingPort = {
  /** `wanted` is asked for the number of messages when the call leaves. */
  claim(
    connectorId: string,
    wanted: () => number,
  ): Promise<{ messages: ClaimedMessage[]; more: boolean }>;
  /** Connectors at which anything waits, due or not. */
  waitingConnectors(): Promise<readonly string[]>;
  /** Answers the ids whose claim was no longer ours. */
  reportOutcomes(outcomes: readonly Outcome[]): Promise<readonly string[]>;
  /** Answers the ids that messaging does not know. */
  recordReceipts(receipts: readonly MatchedReceipt[]): Promise<readonly string[]>;
  /** Says that this carrier lives and what it holds; older claims whose answer got lost go back. */
  renewClaims(): Promise<void>;
  recoverClaims(written: readonly string[]): Promise<{ givenBack: number; inDoubt: number }>;
};

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

/** Names the life of a process, so that the names of one identity's lives sort as they began. */
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
 * Claims of all connectors keep this distance, and those of one moment go in one call: what is
 * claimed ahead lasts more than twice as long.
 */
const CLAIM_PACE_MS = 40;
const CLAIMS_AT_ONCE = 64;

function createClaimQuestions(client: Client<typeof MessagingService>) {
  return createDataLoader<Claim, ClaimMessagesResponse>({
    name: "claims",
    batchMax: CLAIMS_AT_ONCE,
    minIntervalMs: CLAIM_PACE_MS,
    load: async (claims) => {
      const { results } = await rpcAnswer(client.claimMany({ claims: claims.map(toRequest) }));
      return claims.map((_, at) => readResult(results[at]));
    },
  });
}

/** How many are wanted is asked when the call leaves: the window may have emptied meanwhile. */
function toRequest({ wanted, ...claim }: Claim) {
  return { ...claim, max: Math.max(1, wanted()) };
}

function readResult(one: ClaimResult | undefined): ClaimMessagesResponse | Error {
  const result = one?.result;
  if (result?.case === "response") return result.value;
  const code = result?.value ?? "";
  return new AppError(isErrorCode(code) ? code : "internal_error", "The claim failed.");
}

/** Makes the port on a client, for one claiming identity and its `start`-th process. */
export function createMessagingPort(
  client: Client<typeof MessagingService>,
  { carrierId, start }: { readonly carrierId: string; readonly start: number },
): MessagingPort {
  /** Claims that messaging has not heard the outcome of: message to claim. */
  const held = new Map<string, string>();
  /** Claim calls are numbered within the life of this process, so that it can say which have ended. */
  const epoch = epochOf(start);
  const openRounds = new Set<number>();
  let lastRound = 0;
  const ask = createClaimQuestions(client);

  async function claimUnderName(connectorId: string, wanted: () => number) {
    lastRound += 1;
    const round = lastRound;
    openRounds.add(round);
    try {
      const claimCall = `${epoch}.${round}`;
      const answer = await ask({ connectorId, carrierId, wanted, claimCall });
      for (const { messageId, claimId } of answer.messages) held.set(messageId, claimId);
      return answer;
    } finally {
      openRounds.delete(round);
    }
  }

  return {
    async claim(connectorId, wanted) {
      const { messages, more } = await claimUnderName(connectorId, wanted);
      return {
        more,
        messages: messages.map((message) => ({
          messageId: message.messageId,
          claimId: message.claimId,
          to: message.to,
          from: message.from,
          body: message.body,
          encoding: message.encoding === Encoding.UCS2 ? ("ucs2" as const) : ("gsm7" as const),
          segments: message.segments,
          attempt: message.attempt,
          queueUntilMs: Number(message.queueUntilMs),
          traceparent: message.traceparent || undefined,
        })),
      };
    },
    waitingConnectors: async () => (await client.listWaitingConnectors({})).connectorIds,
    async reportOutcomes(outcomes) {
      const { staleMessageIds } = await client.reportOutcomes({
        outcomes: outcomes.map((outcome) => ({
          messageId: outcome.messageId,
          claimId: outcome.claimId,
          kind: OUTCOMES[outcome.kind],
          carrierCode: outcome.carrierCode,
          errorCode: outcome.errorCode,
          retryAtMs: BigInt(Math.round(outcome.retryAtMs)),
          isIncomplete: outcome.isIncomplete === true,
          occurredAtMs: BigInt(Math.round(outcome.occurredAtMs)),
        })),
      });
      for (const { messageId, claimId } of outcomes) {
        // It may have been claimed anew before this answer came.
        if (held.get(messageId) === claimId) held.delete(messageId);
      }
      return staleMessageIds;
    },
    async recordReceipts(receipts) {
      const { unknownMessageIds } = await client.recordReceipts({
        receipts: receipts.map((receipt) => ({
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
        })),
      });
      return unknownMessageIds;
    },
    async renewClaims() {
      const ended = Math.min(lastRound + 1, ...openRounds) - 1;
      const endedClaimCalls = `${epoch}.${ended}`;
      const heldMessageIds = [...held.keys()];
      await client.renewClaims({ carrierId, heldMessageIds, listsHeld: true, endedClaimCalls });
    },
    async recoverClaims(written) {
      return await client.recoverClaims({ carrierId, writtenMessageIds: [...written], epoch });
    },
  };
}
