import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { createLogger } from "../../../services/shared/io/log.ts";
import { startSimulator } from "../../../services/smsc-simulator/create-simulator.ts";
import { kannelMissing, sendSmsPath, startKannel } from "../../support/kannel.ts";
import { eventually } from "../../support/poll.ts";
import { skipSince } from "../../support/skip.ts";

const COUNT = 200;

type Counters = {
  readonly submits: Readonly<Record<string, { total: number; duplicates: number }>>;
  readonly receipts: { readonly sent: number; readonly acknowledged: number };
};

/** Kannel 1.4.5 as a client of the simulator: bearerbox binds, smsbox takes sends over HTTP. */
describe("Kannel's bearerbox as a client of the simulator", () => {
  before(function () {
    // Debian's package kannel has both programs; without it there is no peer to try.
    const missing = kannelMissing();
    if (missing !== undefined) skipSince(this, missing);
  });

  it("Kannel binds as transceiver, submits every message once and gets every receipt", async function () {
    this.timeout(60_000);
    const received = new Set<string>();
    const reports = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? "/", "http://localhost");
      if (searchParams.get("type") === "1") received.add(searchParams.get("number") ?? "");
      response.end();
    });
    reports.listen(0, "127.0.0.1");
    await once(reports, "listening");
    const account = { systemId: "kannel", password: "secret" };
    const log = createLogger("test", "silent");
    const ports = { port: 0, controlPort: 0 };
    const simulator = await startSimulator({ host: "127.0.0.1", ...ports, ...account, log });
    const smsc = { port: simulator.port, ...account };
    const kannel = await startKannel({ smsc, window: 50 });
    try {
      const report = `http://127.0.0.1:${(reports.address() as AddressInfo).port}/?type=%d`;
      for (let at = 0; at < COUNT; at += 1) {
        const to = `+23480312${String(10_000 + at)}`;
        const url = `${report}&number=${encodeURIComponent(to)}`;
        const path = sendSmsPath({
          from: "ACME",
          to,
          text: `Message ${at}`,
          report: { url, mask: 31 },
        });
        const answer = await fetch(new URL(path, kannel.url));
        expect(answer.status, await answer.text()).to.equal(202);
      }
      await eventually(() => received.size === COUNT, {
        timeoutMs: 30_000,
        what: "a delivery report for every message",
      });
      const read = async () => {
        const answer = await fetch(`http://127.0.0.1:${simulator.controlPort}/counters`);
        return (await answer.json()) as Counters;
      };
      // Kannel tells its user of a receipt before it acknowledges it.
      await eventually(async () => (await read()).receipts.acknowledged === COUNT, {
        timeoutMs: 10_000,
        what: "an acknowledgement of every receipt",
      });
      const submits = Object.values((await read()).submits);
      expect(submits.length).to.equal(COUNT);
      expect(submits.every(({ total, duplicates }) => total === 1 && duplicates === 0)).to.equal(
        true,
      );
    } finally {
      reports.close();
      reports.closeAllConnections();
      await kannel.stop();
      await simulator.close();
    }
  });
});
