/** One key that floods the gateway with large bodies delays no other tenant, and the process keeps its memory. */
import { expect } from "chai";
import { ATTACKS, runAttack } from "../../support/large-body-attacks.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";

const PER_SECOND = 30;
const SECONDS = 3;

/** The chart's default limit is 512 MiB. */
const RESIDENT_MIB_MAX = 450;

describe("REST: a flood of large bodies from one key", function () {
  this.timeout(120_000);
  let rest: RestStack;
  let attacker: Customer;
  let victim: Customer;

  before(async () => {
    rest = await openRestStack();
    attacker = await rest.addCustomer();
    victim = await rest.addCustomer();
  });
  after(() => rest?.close());

  for (const attack of ATTACKS) {
    for (const caller of ["a valid key", "no key"] as const) {
      it(`${attack.name}, with ${caller}: others are served, within the memory of the pod`, async () => {
        const result = await runAttack({
          attack,
          apiKey: caller === "no key" ? "" : attacker.apiKey,
          perSecond: PER_SECOND,
          seconds: SECONDS,
          gateway: rest.stack.gateway,
          livez: new URL("/livez", rest.stack.ops.gateway).href,
          victimKey: victim.apiKey,
          pid: rest.stack.pids.gateway ?? 0,
        });
        expect(result.livezMaxMs, "livez").to.be.below(1000);
        // Four times the aim, for machines that do other work.
        expect(result.balanceP99Ms, "another tenant's balance").to.be.below(400);
        expect(result.residentMaxMib, "resident MiB").to.be.below(RESIDENT_MIB_MAX);
      });
    }
  }
});
