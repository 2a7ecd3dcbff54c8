import { expect } from "chai";
import fc from "fast-check";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createCommandQueue } from "../../../services/wallet/app/command-queue.ts";
import { createCheckWallets } from "../../../services/wallet/app/reconcile.ts";
import { createWallets } from "../../../services/wallet/app/wallets.ts";
import { walletCommands } from "../../support/wallet-commands.ts";
import { FAULTS, type Fault, withFaults } from "../../support/wallet-faults.ts";
import { newModel } from "../../support/wallet-ledger-model.ts";
import { createMemoryWalletStore } from "../../support/wallet-memory-store.ts";

/** A wallet on the memory port, whose transactions meet the given faults, one each. */
async function openWallet(faults: readonly Fault[]) {
  const memory = createMemoryWalletStore();
  let unheard = 0;
  let next = 0;
  const store = withFaults(memory, () => {
    const fault = faults[next];
    next += 1;
    if (fault === "unheard") unheard += 1;
    return fault;
  });
  const queue = createCommandQueue({
    store,
    clock: systemClock,
    batchMax: 100,
    queueMax: 1000,
    totalMax: 1000,
    flushesMax: 4,
    walletsMax: 8,
    isTransient: (error) => error instanceof AppError && error.code === "service_unavailable",
  });
  const wallets = createWallets({ store, queue, clock: systemClock });
  const tenantId = newId("tenant");
  await wallets.create(tenantId, "NGN", 0n, { name: "test", address: "" });
  const takeUnheard = () => {
    const count = unheard;
    unheard = 0;
    return count;
  };
  const checkWallets = createCheckWallets(() => memory.openSnapshot());
  return { memory, real: { tenantId, wallets, queue, checkWallets, checkEach: true, takeUnheard } };
}

const faultArbitrary = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fault>(undefined) },
  { weight: 1, arbitrary: fc.constantFrom(...FAULTS) },
);

describe("the wallet against a plain reference ledger", () => {
  it("agrees with it after any commands, repeated, re-ordered and in bursts", async () => {
    const commands = fc.commands(walletCommands(), { maxCommands: 40 });
    const property = fc.asyncProperty(commands, async (cmds) => {
      const { real, memory } = await openWallet([]);
      const model = newModel();
      await fc.asyncModelRun(() => ({ model, real }), cmds);
      const lowEvents = memory.events.filter(({ type }) => type === "low_balance").length;
      expect(lowEvents).to.equal(model.lowEvents);
    });
    await fc.assert(property, { numRuns: 200 });
  });

  it("agrees with it when it dies between any two steps and callers ask again", async () => {
    const commands = fc.commands(walletCommands(), { maxCommands: 25 });
    const faults = fc.array(faultArbitrary, { maxLength: 60 });
    const property = fc.asyncProperty(commands, faults, async (cmds, dealt) => {
      const { real, memory } = await openWallet(dealt);
      const model = newModel();
      await fc.asyncModelRun(() => ({ model, real }), cmds);
      const lowEvents = memory.events.filter(({ type }) => type === "low_balance").length;
      expect(lowEvents).to.equal(model.lowEvents);
    });
    await fc.assert(property, { numRuns: 200 });
  });
});
