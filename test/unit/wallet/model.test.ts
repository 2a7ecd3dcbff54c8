import { expect } from "chai";
import fc from "fast-check";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createCommandQueue } from "../../../services/wallet/app/command-queue.ts";
import { createCheckWallets } from "../../../services/wallet/app/reconcile.ts";
import { createWallets } from "../../../services/wallet/app/wallets.ts";
import { walletCommands } from "../../support/wallet-commands.ts";
import { FAULTS, type Fault, withFaults } from "../../support/wallet-faults.ts";
import { newModel } from "../../support/wallet-ledger-model.ts";
import { createMemoryWalletStore } from "../../support/wallet-memory-store.ts";

/** A wallet on the memory store. Each transaction meets the next of the given faults. */
async function openWallet(faults: readonly Fault[]) {
  const memory = createMemoryWalletStore();
  let lostAnswers = 0;
  let next = 0;
  const store = withFaults(memory, () => {
    const fault = faults[next];
    next += 1;
    if (fault === "answer-lost") lostAnswers += 1;
    return fault;
  });
  const queue = createCommandQueue({
    store,
    clock: systemClock,
    batchMax: 100,
    queueMax: 1000,
    totalMax: 1000,
    transactionsMax: 4,
    walletsMax: 8,
  });
  const wallets = createWallets({ store, queue, clock: systemClock });
  const tenantId = newId("tenant");
  await wallets.create(tenantId, "NGN", 0n, { name: "test", address: "" });
  const takeLostAnswers = () => {
    const count = lostAnswers;
    lostAnswers = 0;
    return count;
  };
  const checkWallets = createCheckWallets(() => memory.openSnapshot());
  return {
    memory,
    real: { tenantId, wallets, queue, checkWallets, checkEach: true, takeLostAnswers },
  };
}

const faultArbitrary = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Fault>(undefined) },
  { weight: 1, arbitrary: fc.constantFrom(...FAULTS) },
);

describe("the wallet against a plain reference ledger", () => {
  it("agrees after any commands, repeated, re-ordered and in bursts", async () => {
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

  it("agrees when the wallet dies between any two steps and callers retry", async () => {
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
