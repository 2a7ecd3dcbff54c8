/**
 * fast-check commands: run the same operations on a wallet and on the reference ledger, compare.
 */
import fc from "fast-check";
import { AppError } from "../../services/shared/core/errors.ts";
import { newId } from "../../services/shared/core/ids.ts";
import type { CommandQueue } from "../../services/wallet/app/command-queue.ts";
import type { CheckWallets } from "../../services/wallet/app/reconcile.ts";
import type { Wallets } from "../../services/wallet/app/wallets.ts";
import {
  applyOp,
  type LedgerModel,
  type ModelReservation,
  type Op,
} from "./wallet-ledger-model.ts";

/** The wallet under test. */
export type RealWallet = {
  readonly tenantId: string;
  readonly wallets: Wallets;
  readonly queue: CommandQueue;
  readonly checkWallets: CheckWallets;
  /** Check the ledger after each command: cheap with the memory store only. */
  readonly checkEach: boolean;
  /** Commits whose answer was lost since the last call. */
  readonly takeLostAnswers: () => number;
};

/** An op without its reservation: `at` picks one of those that exist when it runs, modulo count. */
type Draft =
  | { readonly kind: "hold"; readonly parts: readonly bigint[] }
  | { readonly kind: "hold-again"; readonly at: number; readonly by: bigint }
  | {
      readonly kind: "settle";
      readonly at: number;
      readonly part: number;
      readonly percent: bigint;
    }
  | { readonly kind: "release"; readonly at: number }
  | (Op & { readonly kind: "fund" | "adjust" | "freeze" | "threshold" });

const ACTOR = { name: "model", address: "" };

/** For `fc.commands`: bursts of ops that reach the wallet at the same time. */
export function walletCommands(): fc.Arbitrary<fc.AsyncCommand<LedgerModel, RealWallet>>[] {
  return [fc.array(drafts(), { minLength: 1, maxLength: 6 }).map(burst)];
}

function drafts(): fc.Arbitrary<Draft> {
  const at = fc.nat({ max: 30 });
  const reference = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const part = fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: 40n }));
  const parts = fc.array(part, { minLength: 1, maxLength: 4 });
  const one = <Kind extends Draft["kind"], Rest extends object>(
    weight: number,
    kind: Kind,
    rest: { [Name in keyof Rest]: fc.Arbitrary<Rest[Name]> },
  ) => ({ weight, arbitrary: fc.record({ kind: fc.constant(kind), ...rest }) });
  return fc.oneof(
    one(6, "hold", { parts: parts.filter((held) => held.some((amount) => amount > 0n)) }),
    one(2, "hold-again", { at, by: fc.constantFrom(0n, 0n, 1n) }),
    one(8, "settle", { at, part: fc.nat({ max: 3 }), percent: fc.constantFrom(0n, 40n, 100n) }),
    one(1, "release", { at }),
    one(3, "fund", { amount: fc.constantFrom(50n, 200n), reference }),
    one(1, "adjust", { amount: fc.constantFrom(-60n, 30n), reference }),
    one(1, "freeze", { frozen: fc.boolean() }),
    one(1, "threshold", { amount: fc.constantFrom(0n, 30n, 90n) }),
  ) as fc.Arbitrary<Draft>;
}

function burst(drafts: readonly Draft[]): fc.AsyncCommand<LedgerModel, RealWallet> {
  return {
    check: () => true,
    toString: () => drafts.map(describe).join(" + "),
    async run(model, real) {
      const ops = drafts.flatMap((draft) => settleOn(model, draft));
      const answers = await finalResults(ops.map((op) => () => ask(real, op)));
      // A burst is one batch, decided in order. After a commit with a lost answer callers repeat
      // all of it, and the wallet decides refused commands again.
      let expected: string[] = [];
      for (let times = real.takeLostAnswers(); times >= 0; times -= 1) {
        expected = ops.map((op) => applyOp(model, op));
      }
      ops.forEach((op, at) => {
        if (answers[at] === expected[at]) return;
        throw new Error(`${op.kind}: expected ${expected[at]}, got ${answers[at]}`);
      });
      await compare(model, real);
    },
  };
}

/** Picks the reservation of a draft. */
function settleOn(model: LedgerModel, draft: Draft): Op[] {
  const { reservations } = model;
  if (draft.kind === "hold") {
    const messages = draft.parts.map((held) => ({
      id: newId("message"),
      held,
      captured: undefined,
    }));
    const amount = draft.parts.reduce((sum, held) => sum + held, 0n);
    const id = newId("reservation");
    const reservation: ModelReservation = { id, amount, messages, placed: undefined, open: 0n };
    reservations.push(reservation);
    return [{ kind: "hold", reservation, amount }];
  }
  if (!("at" in draft)) return [draft];
  const reservation = reservations[draft.at % Math.max(1, reservations.length)];
  if (reservation === undefined) return [];
  switch (draft.kind) {
    case "hold-again":
      return [{ kind: "hold", reservation, amount: reservation.amount + draft.by }];
    case "release":
      return [{ kind: "release", reservation }];
    case "settle": {
      const message = reservation.messages[draft.part % reservation.messages.length];
      if (message === undefined) return [];
      const captured = (message.held * draft.percent) / 100n;
      return [{ kind: "settle", reservation, message, captured }];
    }
  }
}

function ask({ tenantId, wallets, queue }: RealWallet, op: Op): Promise<unknown> {
  switch (op.kind) {
    case "hold":
      return wallets.placeHold(tenantId, {
        kind: "hold",
        reservationId: op.reservation.id,
        amount: op.amount,
        messageCount: op.reservation.messages.length,
        firstMessageId: op.reservation.messages[0]?.id ?? "",
        lastMessageId: op.reservation.messages.at(-1)?.id ?? "",
        campaignId: "",
      });
    case "settle":
      return queue.execute(tenantId, {
        kind: "settle",
        messageId: op.message.id,
        reservationId: op.reservation.id,
        heldAmount: op.message.held,
        capturedAmount: op.captured,
      });
    case "release":
      return wallets.release(tenantId, { kind: "release", reservationId: op.reservation.id });
    case "fund":
      return wallets.fund(tenantId, { ...op, kind: "fund", actor: ACTOR });
    case "adjust":
      return wallets.adjust(tenantId, { ...op, kind: "adjust", reason: "model", actor: ACTOR });
    case "freeze":
      return wallets.update(tenantId, { kind: "update", frozen: op.frozen, actor: ACTOR });
    case "threshold":
      return wallets.update(tenantId, {
        kind: "update",
        lowBalanceThreshold: op.amount,
        actor: ACTOR,
      });
  }
}

/**
 * The final results of callers that follow the documented retry rule: "ok" or an error code.
 * Callers without an answer retry together, in their first order.
 */
async function finalResults(calls: readonly (() => Promise<unknown>)[]): Promise<string[]> {
  const answers = calls.map(() => "service_unavailable");
  for (let tries = 0; tries < 100 && answers.includes("service_unavailable"); tries += 1) {
    await Promise.all(
      calls.map(async (call, at) => {
        if (answers[at] !== "service_unavailable") return;
        const codeOf = (error: unknown) => {
          if (error instanceof AppError) return error.code;
          throw error;
        };
        answers[at] = await call().then(() => "ok", codeOf);
      }),
    );
  }
  return answers;
}

async function compare(model: LedgerModel, real: RealWallet): Promise<void> {
  const wallet = await real.wallets.get(real.tenantId);
  const shown = `${wallet.balance} ${wallet.held} ${wallet.low} ${wallet.frozen}`;
  const wanted = `${model.balance} ${model.held} ${model.low} ${model.frozen}`;
  if (shown !== wanted) throw new Error(`the wallet shows ${shown}, the model ${wanted}`);
  if (real.checkEach) await checkBooks(real);
}

/** Throws when the ledger has a breach, or when the check read no wallet. */
export async function checkBooks(
  real: Pick<RealWallet, "checkWallets" | "tenantId">,
): Promise<void> {
  let wallets = 0;
  for await (const { breaches, wallets: checked } of real.checkWallets(real.tenantId)) {
    const [first] = breaches;
    if (first !== undefined) throw new Error(`${first.what} (${first.ids.join(", ")})`);
    wallets = checked;
  }
  if (wallets !== 1) throw new Error(`the check read ${wallets} wallets`);
}

function describe(draft: Draft): string {
  return JSON.stringify(draft, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
}
