/** Fundings by persons: asked for, decided by a second one above a limit, and moved exactly once. */
import type { AuditSource } from "../../shared/core/audit.ts";
import type { Clock } from "../../shared/core/clock.ts";
import { AppError, asAppError, isRetryable } from "../../shared/core/errors.ts";
import { isId, newId } from "../../shared/core/ids.ts";
import { checkCursor, pageLimit } from "../../shared/core/limits.ts";
import type { Actor } from "../domain/command.ts";
import {
  decideFundingRequest,
  type Funding,
  type FundingState,
  peopleOf,
  stateAfterRequest,
} from "../domain/funding-request.ts";
import { actorErrors, check, positive, text } from "./validate.ts";
import type { Page, Wallets } from "./wallets.ts";

/** Filter and page of a list. */
export type FundingQuery = {
  readonly tenantId: string;
  readonly states: readonly FundingState[];
  readonly limit: number;
  readonly beforeId: string;
};

/** The storage of fundings. Each change by a call and its audit entry are one transaction. */
export type FundingStore = {
  /**
   * Inserts a funding in the state that `stateOf` gives it; returns the stored one when the person has used the key
   * before. `stateOf` gets the person's fundings of its currency since `FUNDING_WINDOW_MS` before it, at most
   * `WINDOW_FUNDINGS_MAX`. Of two requests of one person the second sees the first.
   */
  insert(
    funding: Omit<Funding, "state">,
    key: string,
    stateOf: (recent: readonly Funding[]) => FundingState,
  ): Promise<Funding>;
  /** Replaces a pending funding; false when another decision was first. */
  saveDecision(before: Funding, after: Funding): Promise<boolean>;
  find(id: string): Promise<Funding | undefined>;
  /** Newest first. */
  list(query: FundingQuery): Promise<readonly Funding[]>;
  /** Approved fundings whose money has not moved. */
  listApproved(limit: number): Promise<readonly Funding[]>;
  /** Ends an approved funding. */
  finish(id: string, state: "funded" | "failed", failure: string): Promise<void>;
};

/** The use cases. */
export type Fundings = ReturnType<typeof createFundings>;

/** Approved fundings that one sweep moves. */
export const SWEEP_FUNDINGS = 100;

/** The source of a movement by a sweep: an earlier call stored the decision. */
const SWEEP: Omit<AuditSource, "actor" | "requestId"> = {
  method: "sms.v1.WalletService/DecideFunding",
  caller: "wallet",
};

export function createFundings(parts: {
  readonly store: FundingStore;
  readonly wallets: Pick<Wallets, "get" | "fund">;
  readonly clock: Clock;
  readonly approvalAbove: bigint;
}) {
  const { store, wallets, clock, approvalAbove } = parts;

  /**
   * Moves the money of an approved funding. The wallet keeps the funding's id as its reference for ever, in the
   * transaction of the movement: a repeated call, in any process, moves nothing twice.
   */
  async function move(funding: Funding, actor: Omit<Actor, "name">): Promise<Funding> {
    const by = { ...actor, name: peopleOf(funding) };
    const command = {
      kind: "fund",
      amount: funding.amount,
      reference: funding.id,
      actor: by,
    } as const;
    try {
      await wallets.fund(funding.tenantId, command);
    } catch (thrown) {
      const { code, message } = asAppError(thrown);
      // After a failure that may pass, the funding stays approved and the next sweep tries again.
      if (isRetryable(code)) throw thrown;
      await store.finish(funding.id, "failed", message);
      return { ...funding, state: "failed", failure: message };
    }
    await store.finish(funding.id, "funded", "");
    return { ...funding, state: "funded" };
  }

  async function moveIfApproved(funding: Funding, actor: Actor): Promise<Funding> {
    if (funding.state !== "approved") return funding;
    return move(funding, actor).catch(() => funding);
  }

  return {
    approvalAbove,

    /** Errors: `not_found`, `validation_error`. */
    async request(
      wanted: { readonly tenantId: string; readonly amount: bigint; readonly reason: string },
      key: string,
      actor: Actor,
    ): Promise<Funding> {
      check([
        ...positive("amount", wanted.amount),
        ...text("reason", wanted.reason, 512),
        ...text("key", key, 64),
        ...actorErrors(actor),
      ]);
      const { currency } = await wallets.get(wanted.tenantId);
      const { tenantId, amount, reason } = wanted;
      const nowMs = clock.now();
      const stored = await store.insert(
        {
          ...{ id: newId("funding", nowMs), tenantId, amount, currency, reason },
          ...{ requestedBy: actor.name, requestedAtMs: nowMs },
          ...{ decidedBy: "", decidedAtMs: 0, failure: "" },
        },
        key,
        (recent) => stateAfterRequest(amount, recent, approvalAbove),
      );
      return moveIfApproved(stored, actor);
    },

    /** Errors: `not_found`, `insufficient_scope`, `invalid_state_transition`. */
    async decide(id: string, isApproved: boolean, actor: Actor): Promise<Funding> {
      check(actorErrors(actor));
      // Another decision may be stored between the read and the write: then the second read decides.
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const before = await store.find(id);
        if (before === undefined) throw new AppError("not_found", "There is no such funding.");
        const after = decideFundingRequest(before, actor.name, isApproved, clock.now());
        const isStored = after === before || (await store.saveDecision(before, after));
        if (isStored) return moveIfApproved(after, actor);
      }
      throw new AppError("conflict", "The funding is being decided by another person.");
    },

    /** A page of fundings, newest first. */
    async list(query: Omit<FundingQuery, "beforeId"> & { cursor: string }): Promise<Page<Funding>> {
      checkCursor(query.cursor === "" || isId("funding", query.cursor));
      const limit = pageLimit(query.limit);
      const found = await store.list({ ...query, beforeId: query.cursor, limit: limit + 1 });
      const items = found.slice(0, limit);
      return { items, nextCursor: found.length > limit ? (items.at(-1)?.id ?? "") : "" };
    },

    /** Moves the approved fundings that an ended process left. Returns their number. */
    async sweep(): Promise<number> {
      const found = await store.listApproved(SWEEP_FUNDINGS);
      for (const funding of found) {
        const actor = { name: peopleOf(funding), address: "" };
        await move(funding, {
          address: "",
          source: { ...SWEEP, actor, requestId: newId("request") },
        });
      }
      return found.length;
    },
  };
}
