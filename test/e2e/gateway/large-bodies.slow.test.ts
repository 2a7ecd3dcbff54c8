/** One key that floods the gateway with large bodies delays no other tenant, and the process keeps its memory. */
import { expect } from "chai";
import { ATTACKS, type Attack, runAttack } from "../../support/large-body-attacks.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";

const PER_SECOND = 30;
const SECONDS = 2;
/** The promises to other tenants; on a busy machine the ratio to the same requests without an attack counts. */
const BALANCE_MS = 300;
const LIVEZ_MS = 1000;
const BUSY_RATIO_MAX = 20;
const REFUSED_SHARE_MAX = 0.1;

/** The chart's default limit is 512 MiB. */
const RESIDENT_MIB_MAX = 490;

describe("REST: a flood of large bodies from one key", function () {
  this.timeout(120_000);
  let rest: RestStack;
  let attacker: Customer;
  let victim: Customer;
  let calmP99Ms = 0;

  before(async () => {
    rest = await openRestStack();
    attacker = await rest.addCustomer();
    victim = await rest.addCustomer();
    const [attack] = ATTACKS;
    if (attack !== undefined) calmP99Ms = (await run(attack, "", 0)).balanceP99Ms;
  });
  after(() => rest?.close());

  const run = (attack: Attack, apiKey: string, perSecond: number) =>
    runAttack({
      attack,
      apiKey,
      perSecond,
      seconds: SECONDS,
      // A request without an answer stays open until the measurement is over.
      openMs: 1500 * SECONDS,
      gateway: rest.stack.gateway,
      livez: new URL("/livez", rest.stack.ops.gateway).href,
      victimKey: victim.apiKey,
      pid: rest.stack.pids.gateway ?? 0,
    });

  for (const attack of ATTACKS) {
    const callers = attack.needsKey
      ? (["a valid key"] as const)
      : (["a valid key", "no key"] as const);
    for (const caller of callers) {
      it(`${attack.name}, with ${caller}: others are served, within the memory of the pod`, async () => {
        const result = await run(attack, caller === "no key" ? "" : attacker.apiKey, PER_SECOND);
        const busyMs = BUSY_RATIO_MAX * calmP99Ms;
        expect(result.livezMaxMs, "livez").to.be.below(LIVEZ_MS + busyMs);
        // Of the hundred requests of two seconds, ten may meet a pause of a busy machine.
        expect(result.balanceP90Ms, "another tenant's balance").below(BALANCE_MS + busyMs);
        expect(result.balanceRefusedShare, "refused").to.be.below(REFUSED_SHARE_MAX);
        expect(result.residentMaxMib, "resident MiB").to.be.below(RESIDENT_MIB_MAX);
      });
    }
  }
});
