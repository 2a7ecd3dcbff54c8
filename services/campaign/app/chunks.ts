/**
 * Chunks: the rows that one request queues. A chunk is stored, with its campaign's `openChunk`, before it is sent, so
 * after any crash the same rows are repeated under the same key, and messaging answers them once:
 *
 * - Crash before the request: the next process that leases the campaign sends the chunk.
 * - Crash after the request, or before its answer is recorded: the repeat gets the stored answer.
 *
 * A pause or a cancel closes the open chunk: messaging returns the messages that it has queued, or refuses the chunk's
 * key from then on.
 */
import type { Clock } from "../../shared/core/clock.ts";
import {
  type Campaign,
  isFinished,
  type PauseReason,
  type Transition,
  transition,
} from "../domain/campaign.ts";
import { budgetLeft, nextFeedAt } from "../domain/chunk-size.ts";
import { countChanges } from "../domain/progress.ts";
import { applyFeedResult, type FeedResult } from "../domain/row.ts";
import { personalise, templateOf } from "./personalise.ts";
import {
  ANY_SCOPE,
  type CampaignStore,
  type CampaignTransaction,
  type Chunk,
  type ChunkRequest,
  type Messaging,
  type RecipientText,
  type RowChange,
  type Work,
} from "./ports.ts";

export type ChunkParts = {
  readonly store: CampaignStore;
  readonly messaging: Pick<Messaging, "send" | "close" | "estimate">;
  readonly clock: Clock;
};

/** The result of a step. `idle`: nothing can be fed now. */
export type Step = "fed" | "idle";

export type Chunks = ReturnType<typeof createChunks>;

export function createChunks({ store, messaging, clock }: ChunkParts) {
  /** Chooses and stores the next chunk of a running campaign; undefined when nothing can be fed now. */
  async function open(campaignId: string, sizeOf: (campaign: Campaign) => number) {
    const budgeted = await priceWithinBudget(campaignId, sizeOf);
    return store.transact<OpenChunk | undefined>(campaignId, async (tx) => {
      const { campaign } = tx;
      if (campaign.status !== "running" || campaign.openChunk !== undefined)
        return { result: undefined };
      if (isFinished(campaign)) return finish(campaign, clock.now());
      const size = Math.min(sizeOf(campaign), budgeted?.size ?? Number.POSITIVE_INFINITY);
      if (size <= 0) return budgeted === undefined ? { result: undefined } : outOfBudget(campaign);
      return choose(tx, campaign, size, budgeted?.heldMax);
    });
  }

  async function choose(
    tx: CampaignTransaction,
    campaign: Campaign,
    size: number,
    heldMax: bigint | undefined,
  ): Promise<Work<OpenChunk | undefined>> {
    const template = templateOf(campaign);
    const rows = await tx.firstWaiting(size);
    const refused: RowChange[] = [];
    const indexes: number[] = [];
    const recipients: RecipientText[] = [];
    for (const row of rows) {
      const text = personalise(campaign, template, row);
      if ("error" in text) {
        refused.push({ before: row, after: { ...row, status: "rejected", error: text.error } });
        continue;
      }
      indexes.push(row.index);
      recipients.push(text);
    }
    await tx.saveRows(refused);
    const nowMs = clock.now();
    const progress = countChanges(campaign.progress, refused);
    const next = { ...campaign, progress, updatedAtMs: nowMs };
    if (indexes.length === 0) return finishOr(next, nowMs, undefined);
    const number = campaign.nextChunk;
    const chunk = { campaignId: campaign.id, number, indexes, heldMax };
    await tx.insertChunk(chunk);
    return {
      result: { chunk, request: toRequest(campaign, chunk, recipients) },
      campaign: {
        ...next,
        openChunk: number,
        openChunkMax: heldMax ?? 0n,
        nextChunk: number + 1,
        nextFeedAtMs: nextFeedAt(campaign, indexes.length, nowMs),
      },
    };
  }

  /**
   * With a budget, prices the next rows and counts those that it covers. The prices may change before the chunk is
   * accepted, so the request names the most that the chunk may hold.
   */
  async function priceWithinBudget(campaignId: string, sizeOf: (campaign: Campaign) => number) {
    const campaign = await store.find(ANY_SCOPE, campaignId);
    if (campaign?.content.budget === undefined || campaign.status !== "running") return undefined;
    const left = budgetLeft(campaign) ?? 0n;
    const size = sizeOf(campaign);
    if (size <= 0) return undefined;
    const { rowSet } = campaign;
    const filter = { rowSet, statuses: ["waiting" as const], afterIndex: -1, limit: size };
    const rows = await store.rows(filter);
    const template = templateOf(campaign);
    const texts = rows.map((row) => personalise(campaign, template, row));
    const personal = texts.filter((text): text is RecipientText => !("error" in text));
    const prices = personal.length === 0 ? [] : await messaging.estimate(campaign, personal);
    let heldMax = 0n;
    let covered = 0;
    let priced = 0;
    for (const text of texts) {
      const held = "error" in text ? 0n : (prices[priced++]?.held ?? 0n);
      if (heldMax + held > left) break;
      heldMax += held;
      covered += 1;
    }
    return { size: covered, heldMax };
  }

  /**
   * The budget does not cover the next row: pause once no message is queued. Until then a hold may end in a lower
   * charge.
   */
  function outOfBudget(campaign: Campaign): Work<undefined> {
    if (campaign.progress.waiting === 0 || campaign.progress.queued > 0)
      return { result: undefined };
    const action = { kind: "pause", reason: "budget_reached" } as const;
    return { result: undefined, transition: transition(campaign, action, clock.now()) };
  }

  /**
   * Sends the open chunk, of this process or of an earlier one, and records the answer. Returns the next chunk when it
   * was opened in the same transaction.
   */
  async function send(
    campaign: Campaign,
    opened: OpenChunk | undefined,
    sizeOf: (campaign: Campaign) => number,
  ): Promise<OpenChunk | undefined> {
    const request = opened ?? (await readOpen(campaign));
    if (request === undefined) return undefined;
    const answer = await messaging.send(request.request);
    if (answer.kind === "accepted") return record(request.chunk, answer.results, sizeOf);
    if (answer.kind === "pause") await giveUp(request.chunk, answer.reason);
    else await recordRejections(campaign, request);
    return undefined;
  }

  /** No row passed: records the error of each row. A row that passes now waits for its next chunk. */
  async function recordRejections(
    campaign: Campaign,
    { chunk, request }: OpenChunk,
  ): Promise<void> {
    const estimated = await messaging.estimate(campaign, request.recipients);
    const results = estimated.map(({ error }): FeedResult | undefined =>
      error === undefined ? undefined : { kind: "rejected", error },
    );
    // A limit of the hold explains the refusal, or the error of a row. Otherwise messaging contradicts its estimate,
    // and the caller waits before it tries again.
    const isExplained = chunk.heldMax !== undefined || results.some((one) => one !== undefined);
    if (!isExplained) throw new Error("messaging refuses a chunk whose rows all pass");
    await record(chunk, results, NO_NEXT);
  }

  /** Closes the open chunk of a campaign that is no longer fed. */
  async function close(campaign: Campaign): Promise<void> {
    const request = await readOpen(campaign);
    if (request === undefined) return;
    const results = await messaging.close(request.request);
    if (results === undefined) await giveUp(request.chunk, undefined);
    else await record(request.chunk, results, NO_NEXT);
  }

  /** Reads the open chunk. Its rows have the texts with which it was first sent: content and variables are frozen. */
  async function readOpen(campaign: Campaign): Promise<OpenChunk | undefined> {
    const { openChunk } = campaign;
    if (openChunk === undefined) return undefined;
    const chunk = await store.chunk(campaign.id, openChunk);
    if (chunk === undefined) throw new Error(`chunk ${openChunk} of ${campaign.id} is missing`);
    const template = templateOf(campaign);
    const rows = await store.rowsByIndex(campaign.rowSet, chunk.indexes);
    const texts = rows.map((row) => personalise(campaign, template, row));
    const recipients = texts.filter((text): text is RecipientText => !("error" in text));
    return { chunk, request: toRequest(campaign, chunk, recipients) };
  }

  /**
   * Records one result for each row of the chunk, once; an undefined result leaves its row as it is. Opens the next
   * chunk, unless it must be priced first.
   */
  function record(
    chunk: Chunk,
    results: readonly (FeedResult | undefined)[],
    sizeOf: (campaign: Campaign) => number,
  ): Promise<OpenChunk | undefined> {
    return store.transact<OpenChunk | undefined>(chunk.campaignId, async (tx) => {
      const { campaign } = tx;
      if (campaign.openChunk !== chunk.number) return { result: undefined };
      const states = await tx.statesByIndex(chunk.indexes);
      const changes = chunk.indexes.flatMap((index, at) => {
        const [before, result] = [states.get(index), results[at]];
        if (before === undefined || result === undefined) return [];
        const after = applyFeedResult(before, result);
        return after === undefined ? [] : [{ before, after }];
      });
      await tx.saveRows(changes);
      const progress = countChanges(campaign.progress, changes);
      const recorded = { ...withoutChunk(campaign), progress };
      const isFeeding = recorded.status === "running" && recorded.content.budget === undefined;
      const size = isFeeding ? sizeOf(recorded) : 0;
      if (size > 0) return choose(tx, recorded, size, undefined);
      return finishOr(recorded, clock.now(), undefined);
    });
  }

  /** Nothing of the chunk was queued: its rows wait. With a reason, the campaign is paused. */
  async function giveUp(chunk: Chunk, reason: PauseReason | undefined): Promise<void> {
    await store.transact(chunk.campaignId, async ({ campaign }) => {
      if (campaign.openChunk !== chunk.number) return { result: undefined };
      const free = withoutChunk(campaign);
      if (reason === undefined || free.status !== "running")
        return { result: undefined, campaign: free };
      const paused = transition(free, { kind: "pause", reason }, clock.now());
      return { result: undefined, campaign: paused?.campaign ?? free, transition: paused };
    });
  }

  return { open, send, close };
}

/** The size of the next chunk when none may follow the recorded one. */
const NO_NEXT = () => 0;

/** A stored chunk, and the request that queues it. */
export type OpenChunk = { readonly chunk: Chunk; readonly request: ChunkRequest };

function toRequest(campaign: Campaign, chunk: Chunk, recipients: RecipientText[]): ChunkRequest {
  const { number, heldMax } = chunk;
  return { campaign, key: `${campaign.id}-${number}`, heldMax, recipients };
}

function withoutChunk(campaign: Campaign): Campaign {
  return { ...campaign, openChunk: undefined, openChunkMax: 0n };
}

function finish(campaign: Campaign, nowMs: number): Work<undefined> {
  const done: Transition | undefined = transition(campaign, { kind: "complete" }, nowMs);
  return { result: undefined, transition: done };
}

/** The campaign as it is, or completed when nothing is left to do. */
export function finishOr<T>(campaign: Campaign, nowMs: number, result: T): Work<T | undefined> {
  if (isFinished(campaign)) return finish(campaign, nowMs);
  return { result, campaign };
}
