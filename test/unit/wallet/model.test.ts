import { expect } from "chai";
import fc from "fast-check";
import { createCheckWallets } from "../../../services/wallet/app/reconcile.ts";
import { walletCommands } from "../../support/wallet-commands.ts";
import { FAULTS, type Fault, openFaultyWallet } from "../../support/wallet-faults.ts";
import { newModel } from "../../support/wallet-ledger-model.ts";
import { createMemoryWalletStore } from "../../support/wallet-memory-store.ts";

/** A wallet on the memory store. Each transaction meets the next of the given faults. */
async function openWallet(faults: readonly Fault[]) {
  const memory = createMemoryWalletStore();
  const checkWallets = createCheckWallets(() => memory.openSnapshot());
  const wallet = await openFaultyWallet(memory, faults);
  return { memory, real: { ...wallet, checkWallets, checkEach: true } };
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
