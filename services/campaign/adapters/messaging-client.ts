/** Client of messaging: chunks, estimates, test sends, and taking back queued messages. */
import type { Client } from "@connectrpc/connect";
import {
  MessageSource,
  MessageStatus,
  type MessagingService,
  SendEndpoint,
  type SendEntry,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { fingerprint } from "../../shared/core/canonical-json.ts";
import { AppError } from "../../shared/core/errors.ts";
import { idTimeMs } from "../../shared/core/ids.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { WIRE_MODE } from "../../shared/rpc/mode.ts";
import type { ChunkAnswer, ChunkRequest, Messaging, RecipientText } from "../app/ports.ts";
import type { Campaign } from "../domain/campaign.ts";
import { pauseReasonOf } from "../domain/pause-reason.ts";
import type { FeedResult, RowError } from "../domain/row.ts";

/** Deadline of a send or an estimate of many rows. */
const SEND_MS = 20_000;
/** Deadline of a cancel, which goes through the queued messages of a campaign. */
const CANCEL_MS = 30_000;

export function createMessagingClient(client: Client<typeof MessagingService>): Messaging {
  /** The stored answer of a key; without one, refuses the key from then on. */
  async function closeKey(
    { tenantId, mode }: Campaign,
    { key, fingerprint }: { readonly key: string; readonly fingerprint: Uint8Array },
  ): Promise<readonly FeedResult[] | undefined> {
    const request = {
      ...{ tenantId, mode: WIRE_MODE[mode], endpoint: SendEndpoint.CAMPAIGN },
      ...{ idempotencyKey: key, fingerprint, beforeRefusal: true },
    };
    const { response } = await rpcAnswer(client.lookupSend(request, { timeoutMs: SEND_MS }));
    return response?.entries.map(toResult);
  }

  return {
    async send(request): Promise<ChunkAnswer> {
      try {
        const call = client.sendMessages(chunkToProto(request), { timeoutMs: SEND_MS });
        return { kind: "accepted", results: (await rpcAnswer(call)).entries.map(toResult) };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        const reason = pauseReasonOf(error.code);
        if (reason !== undefined) return { kind: "pause", reason };
        if (error.code === "validation_error") return { kind: "refused" };
        throw error;
      }
    },
    close: ({ campaign, key, recipients }) =>
      closeKey(campaign, { key, fingerprint: fingerprintOf(campaign, recipients) }),
    closeTest: closeKey,
    async estimate(campaign, recipients) {
      const call = client.estimateSend(toProto(campaign, recipients), { timeoutMs: SEND_MS });
      const { entries } = await rpcAnswer(call);
      return entries.map((entry) => ({
        error: errorOf(entry),
        segments: entry.segments,
        held: entry.heldAmount,
      }));
    },
    async estimateSums(campaign, recipients) {
      const request = {
        ...toProto(campaign, recipients),
        rejectedEntriesOnly: true,
        // Price recipients in quiet hours too: the campaign may be fed at another time of the day.
        rejectsInQuietHours: false,
      };
      const answer = await rpcAnswer(client.estimateSend(request, { timeoutMs: SEND_MS }));
      return {
        recipients: answer.accepted,
        segments: answer.segments,
        held: answer.heldAmount,
        rejected: answer.entries.flatMap((entry) => errorOf(entry) ?? []),
      };
    },
    async cancelWaiting({ tenantId, id }) {
      const request = { tenantId, campaignId: id, openOnly: true };
      const call = client.cancelCampaign(request, { timeoutMs: CANCEL_MS });
      return Number((await rpcAnswer(call)).cancelled);
    },
    async sendTest(campaign, recipients, keyed) {
      const request = {
        ...toProto(campaign, recipients),
        source: MessageSource.TEST_SEND,
        campaignId: "",
        ...(keyed.key === "" ? {} : { idempotencyKey: keyed.key, fingerprint: keyed.fingerprint }),
      };
      const answer = await rpcAnswer(client.sendMessages(request, { timeoutMs: SEND_MS }));
      return { results: answer.entries.map(toResult), replayed: answer.replayed };
    },
  };
}

function chunkToProto({ campaign, key, heldMax, recipients }: ChunkRequest) {
  return {
    ...toProto(campaign, recipients),
    idempotencyKey: key,
    fingerprint: fingerprintOf(campaign, recipients),
    // Let messaging take no lock on the key: the key's record decides between two sends of a chunk, and a lock would
    // delay the repeat after messaging was killed.
    fenced: true,
    ...(heldMax === undefined ? {} : { heldAmountMax: heldMax }),
  };
}

function toProto(campaign: Campaign, recipients: readonly RecipientText[]) {
  return {
    tenantId: campaign.tenantId,
    mode: WIRE_MODE[campaign.mode],
    source: MessageSource.CAMPAIGN,
    campaignId: campaign.id,
    endpoint: SendEndpoint.CAMPAIGN,
    from: campaign.content.from,
    ...rejectsInQuietHours(campaign),
    recipients: recipients.map(({ to, body, clientReference }) => ({
      to,
      body,
      clientReference: clientReference ?? "",
    })),
  };
}

/** The campaign's policy for quiet hours; without one the tenant's policy applies. */
function rejectsInQuietHours({ content: { quietHours } }: Campaign) {
  return quietHours === undefined ? {} : { rejectsInQuietHours: quietHours === "reject" };
}

/** The same rows have the same fingerprint in every process that repeats them. */
function fingerprintOf(campaign: Campaign, recipients: readonly RecipientText[]): Uint8Array {
  return fingerprint(campaign.id, campaign.mode, campaign.content.from, recipients);
}

function toResult(entry: SendEntry): FeedResult {
  const error = errorOf(entry);
  if (error !== undefined) return { kind: "rejected", error };
  return {
    kind: "queued",
    messageId: entry.id,
    held: entry.heldAmount,
    atMs: idTimeMs(entry.id),
  };
}

function errorOf({ status, error }: SendEntry): RowError | undefined {
  if (status !== MessageStatus.REJECTED) return undefined;
  return {
    code: error?.code ?? "rejected",
    message: error?.message ?? "The recipient was refused.",
  };
}
