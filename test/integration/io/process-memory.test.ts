import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { openWallet, type WalletHarness } from "../../support/wallet-harness.ts";
import { startWallet } from "../../support/wallet-process.ts";

/**
 * The budget of one idle service process is 120 MB; without the cache of stripped types this one takes 118.
 */
const RESIDENT_MAX_MIB = 110;
/** The memory after the start plus a quarter; the start itself takes 40 MB and more. */
const HEAP_MAX_MIB = 32;

describe("the memory of an idle process", function () {
  this.timeout(120_000);
  let servers: TestServers;
  let harness: WalletHarness;
  const prefix = freshDatabase("memory");

  before(async () => {
    servers = await startServers();
    harness = await openWallet(servers, { database: `${prefix}_wallet` });
  });
  after(async () => {
    await harness.close();
    await servers.stop();
  });

  it("is within its budget after the first idle seconds", async () => {
    execFileSync(process.execPath, [join(ROOT, "services/strip-types-cache.mjs")], {
      stdio: "ignore",
    });
    const wallet = await startWallet(servers, prefix);
    try {
      await eventually(
        async () => {
          const metrics = await (await fetch(`${wallet.opsUrl}/metrics`)).text();
          const mib = (name: string) =>
            Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1]) / 2 ** 20;
          expect(mib("process_resident_memory_bytes")).to.be.within(20, RESIDENT_MAX_MIB);
          expect(mib("nodejs_heap_size_total_bytes")).to.be.within(5, HEAP_MAX_MIB);
          return true;
        },
        { timeoutMs: 60_000, everyMs: 500 },
      );
    } finally {
      await wallet.stop();
    }
  });
});
