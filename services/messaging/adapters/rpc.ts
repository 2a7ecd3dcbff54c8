/** `sms.v1.MessagingService`: maps requests to use cases and results to responses, nothing else. */
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type ClaimMessagesRequest,
  MessagingService,
  type SendMessagesRequest,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { checkItems, invalidField } from "../../shared/core/limits.ts";
import type { Logger } from "../../shared/core/logger.ts";
import { type AuditLog, auditSource } from "../../shared/io/audit-log.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import { readMode } from "../../shared/rpc/mode.ts";
import type { SendService } from "../app/accept.ts";
import type { Cancels } from "../app/cancel.ts";
import type { CarrierReports } from "../app/carrier-reports.ts";
import { checkCarrierName } from "../app/check-claim.ts";
import type { Claimer } from "../app/claim.ts";
import { cancelScope, type Idempotency, sendScope } from "../app/idempotency.ts";
import type { Queries } from "../app/queries.ts";
import type { ResolveReservations } from "../app/resolve-reservations.ts";
import type { Usage } from "../app/usage.ts";
import { readClaimCall } from "../domain/claim-epoch.ts";
import { toWireCharge, toWireMessage } from "./proto.ts";
import { createBatchClaim } from "./rpc-batch-claim.ts";
import { checkResponseSize, createBatchSend } from "./rpc-batch-send.ts";
import {
  cancelResponse,
  readEndpoint,
  readKey,
  readListFilter,
  readNamedCampaign,
  readOutcome,
  readReceipt,
  readSearch,
  readSendRequest,
  replayedCancel,
  replayedSend,
  sendResponse,
  toClaimed,
} from "./rpc-mapping.ts";
import { usageMethods } from "./rpc-usage.ts";

/** The use cases behind the interface. */
export type UseCases = {
  readonly sendService: SendService;
  readonly cancels: Cancels;
  readonly carriers: CarrierReports;
  readonly claimer: Claimer;
  readonly idempotency: Pick<Idempotency, "find" | "findBeforeRefusal">;
  readonly queries: Queries;
  readonly audit: AuditLog;
  readonly usage: Usage;
  readonly resolve: ResolveReservations;
};

/** `keepMs` is the retention of messages, which `StreamCharges` reports. */
export function createMessagingRpc(
  useCases: UseCases,
  keepMs: number,
  log: Logger,
): ServiceImpl<typeof MessagingService> {
  return {
    ...customerMethods(useCases, log),
    ...carrierMethods(useCases, log),
    ...auditMethods(useCases, keepMs),
    ...usageMethods(useCases),
  };
}

/** The most outcomes or receipts in one call: half of the update queue, so that no call is refused in part. */
const ITEMS_MAX = 10_000;

type Methods = ServiceImpl<typeof MessagingService>;
type CustomerMethod =
  | "sendMessages"
  | "sendMany"
  | "sendEach"
  | "estimateSend"
  | "lookupSend"
  | "getMessage"
  | "listMessages"
  | "cancelMessage"
  | "cancelCampaign";
type CarrierMethod =
  | "claimMessages"
  | "claimMany"
  | "listWaitingConnectors"
  | "reportOutcomes"
  | "recordReceipts"
  | "renewClaims"
  | "recoverClaims";

function customerMethods(
  { sendService, cancels, idempotency, queries, audit }: UseCases,
  log: Logger,
): Pick<Methods, CustomerMethod> {
  async function send(
    wire: SendMessagesRequest,
    context: HandlerContext,
    isCheckedAtGateway: boolean,
  ) {
    const request = readSendRequest(wire, isCheckedAtGateway);
    const answer = await sendService.send(request, () => context.signal.aborted);
    if (answer.kind === "replay") return replayedSend(answer.response);
    return sendResponse(request, answer.result);
  }
  return {
    async sendMessages(wire, context) {
      checkResponseSize([wire]);
      return send(wire, context, false);
    },
    async estimateSend(wire) {
      checkResponseSize([wire]);
      const request = readSendRequest(wire, false);
      const { rejectedEntriesOnly } = wire;
      const isShown = ({ status }: { status: string }) =>
        !rejectedEntriesOnly || status === "rejected";
      return sendResponse(request, await sendService.estimate(request), isShown);
    },
    // Used by the gateway.
    ...createBatchSend((wire, context) => send(wire, context, true), log),
    async lookupSend(wire) {
      const { tenantId, fingerprint, cancelMessageId, beforeRefusal } = wire;
      const mode = readMode(wire.mode) ?? "live";
      const key = readKey(wire.idempotencyKey);
      // Without a key no response is stored.
      if (key === undefined) return {};
      const find = beforeRefusal ? idempotency.findBeforeRefusal : idempotency.find;
      if (cancelMessageId !== "") {
        const scope = cancelScope(tenantId, cancelMessageId, key);
        const bytes = await find({ scope, fingerprint });
        if (bytes === undefined) return {};
        const { message } = replayedCancel(bytes);
        return message?.mode === wire.mode || wire.mode === Mode.UNSPECIFIED
          ? { response: { replayed: true, ...(message && { message }) } }
          : {};
      }
      const scope = sendScope({ tenantId, mode, endpoint: readEndpoint(wire.endpoint) }, key);
      const bytes = await find({ scope, fingerprint });
      return bytes === undefined ? {} : { response: replayedSend(bytes) };
    },
    async getMessage({ tenantId, messageId, mode }) {
      const message = await queries.get(tenantId, messageId, readMode(mode));
      return { message: toWireMessage(message, true) };
    },
    async listMessages(wire) {
      const { limit, settled: isSettled, allowsShortPages: allowsShort } = wire;
      const options = { limit, isSettled, allowsShort };
      const page = await queries.list(readListFilter(wire), options);
      const messages = page.messages.map((message) => toWireMessage(message, false));
      return { messages, hasMore: page.hasMore, nextBeforeId: page.nextBeforeId ?? "" };
    },
    async cancelMessage(wire, context) {
      const request = {
        tenantId: wire.tenantId,
        messageId: wire.messageId,
        mode: readMode(wire.mode),
        key: readKey(wire.idempotencyKey),
        fingerprint: wire.fingerprint,
        isLocked: wire.fenced,
        source: auditSource(),
      };
      const answer = await cancels.cancel(request, () => context.signal.aborted);
      if (answer.kind === "replay") return replayedCancel(answer.response);
      return cancelResponse(answer.result);
    },
    async cancelCampaign({ tenantId, campaignId, openOnly }) {
      const campaign = readNamedCampaign(campaignId);
      const { cancelled, unchanged } = await cancels.cancelCampaign(tenantId, campaign, openOnly);
      // Write the audit entry after the cancels, outside their transactions: after a crash in between, the messages'
      // histories show the cancels.
      const after = { cancelled, unchanged };
      if (cancelled > 0)
        await audit.write({ tenantId, subject: campaign, before: undefined, after });
      return { cancelled: BigInt(cancelled), unchanged: BigInt(unchanged) };
    },
  };
}

function carrierMethods(
  { claimer, carriers }: UseCases,
  log: Logger,
): Pick<Methods, CarrierMethod> {
  async function claimMessages({ connectorId, carrierId, max, claimCall }: ClaimMessagesRequest) {
    const call = readClaimCall(claimCall);
    const { messages, more } = await claimer.claim(connectorId, carrierId, max, call);
    return { messages: messages.map(toClaimed), more };
  }
  return {
    claimMessages,
    claimMany: createBatchClaim(claimMessages, log),
    async listWaitingConnectors() {
      return { connectorIds: await claimer.waitingConnectors() };
    },
    async reportOutcomes({ outcomes }) {
      checkItems("outcomes", outcomes.length, 0, ITEMS_MAX);
      const { stale, proven } = await carriers.report(outcomes.map(readOutcome));
      return { staleMessageIds: stale, provenMessageIds: proven };
    },
    async recordReceipts({ receipts }) {
      checkItems("receipts", receipts.length, 0, ITEMS_MAX);
      return { unknownMessageIds: await carriers.recordReceipts(receipts.map(readReceipt)) };
    },
    async renewClaims({ carrierId, heldMessageIds, listsHeld, endedClaimCalls }) {
      checkCarrierName(carrierId);
      const held = listsHeld ? new Set(heldMessageIds) : undefined;
      await carriers.renew(carrierId, held, readClaimCall(endedClaimCalls));
      return {};
    },
    async recoverClaims({ carrierId, writtenMessageIds, epoch, partlyWrittenMessageIds }) {
      checkCarrierName(carrierId);
      checkItems("partly_written_message_ids", partlyWrittenMessageIds.length, 0, ITEMS_MAX);
      const written = new Set(writtenMessageIds);
      const ended = readClaimCall(`${epoch}.0`);
      const result = await carriers.recover(carrierId, written, ended, partlyWrittenMessageIds);
      return { ...result, partlyWritten: result.partlyWritten.map(toClaimed) };
    },
  };
}

/**
 * Audits a search across tenants: it shows an operator what customers sent to a person. A search changes nothing, so
 * the entry has no values.
 */
function writeSearch(audit: AuditLog, tenantId: string, subject: string): Promise<void> {
  return audit.write({ tenantId, subject, before: undefined, after: undefined });
}

function auditMethods(
  { queries, resolve, audit }: UseCases,
  keepMs: number,
): Omit<Methods, CustomerMethod | CarrierMethod | "getUsage"> {
  return {
    ...auditHandler(MessagingService, audit),
    async resolveReservations({ reservations, omitWaiting }) {
      // A missing reservation gets a permanent tombstone, so each one needs an id.
      const nameless = reservations.findIndex(({ reservationId }) => reservationId === "");
      if (nameless !== -1) {
        const field = `reservations[${nameless}].reservation_id`;
        throw invalidField(field, "required", "names the reservation");
      }
      const answers = await resolve(reservations, { omitWaiting });
      return {
        answers: answers.map(({ reservationId, hasTombstone, charges }) => ({
          reservationId,
          fenced: hasTombstone,
          charges: charges.map(toWireCharge),
        })),
      };
    },
    async *streamCharges({ tenantId }) {
      yield { messageKeepMs: BigInt(keepMs) };
      for await (const charges of queries.charges(tenantId || undefined)) {
        yield { charges: charges.map(toWireCharge) };
      }
    },
    async *checkMessages({ tenantId }) {
      for await (const part of queries.check(tenantId || undefined)) {
        yield {
          breaches: part.breaches.map((breach) => ({ ...breach, ids: [...breach.ids] })),
          messages: BigInt(part.messages),
          sends: BigInt(part.sends),
          outbox: BigInt(part.outbox),
          done: part.done,
        };
      }
    },
    async findMessages(wire) {
      const search = readSearch(wire);
      if (search.messageId !== undefined) {
        const message = await queries.findById(search.messageId);
        if (message === undefined) return {};
        await writeSearch(audit, message.tenantId, message.id);
        return { messages: [toWireMessage(message, true)] };
      }
      const { messages, nextTenantId = "" } = await queries.findByNumber(search);
      // Only the first page is audited: the others are of the same search.
      if (search.afterTenantId === "") await writeSearch(audit, wire.tenantId, search.to);
      return { messages: messages.map((one) => toWireMessage(one, false)), nextTenantId };
    },
    async getQueueStats() {
      const [queues, quiet] = await Promise.all([queries.queues(), queries.countQuiet()]);
      return {
        quiet: BigInt(quiet),
        queues: queues.map(({ connectorId, waiting, oldestWaitingMs, sending }) => ({
          connectorId,
          waiting: BigInt(waiting),
          oldestWaitingMs: BigInt(oldestWaitingMs),
          sending: BigInt(sending),
        })),
      };
    },
  };
}
