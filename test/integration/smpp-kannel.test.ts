import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { freePortRange } from "../../deploy/dev/ports.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { startSimulator } from "../../services/smsc-simulator/simulator.ts";
import { eventually } from "../support/poll.ts";

const BEARERBOX = "/usr/sbin/bearerbox";
const SMSBOX = "/usr/sbin/smsbox";
const COUNT = 200;

type Counters = {
  readonly submits: Readonly<Record<string, { total: number; duplicates: number }>>;
  readonly receipts: { readonly sent: number; readonly acknowledged: number };
};

/** Kannel 1.4.5 as a client of the simulator: bearerbox binds, smsbox takes sends over HTTP. */
describe("Kannel's bearerbox beside our simulator", () => {
  const children: ChildProcess[] = [];
  let folder = "";

  before(function () {
    // Debian's package kannel has both programs; without it there is no peer to try.
    if (!existsSync(BEARERBOX) || !existsSync(SMSBOX)) this.skip();
  });

  after(async () => {
    for (const child of children.reverse()) {
      if (child.exitCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    if (folder !== "") await rm(folder, { recursive: true, force: true });
  });

  it("binds as transceiver, submits every message once and gets every receipt", async function () {
    this.timeout(60_000);
    const received = new Set<string>();
    const reports = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? "/", "http://localhost");
      if (searchParams.get("type") === "1") received.add(searchParams.get("number") ?? "");
      response.end();
    });
    reports.listen(0, "127.0.0.1");
    await once(reports, "listening");
    const simulator = await startSimulator({
      host: "127.0.0.1",
      port: 0,
      controlPort: 0,
      systemId: "kannel",
      password: "secret",
      log: createLogger("test", "silent"),
    });
    try {
      const base = await freePortRange(4);
      folder = await mkdtemp(join(tmpdir(), "sms-kannel-"));
      await writeFile(join(folder, "kannel.conf"), configuration(base, simulator.port));
      start(BEARERBOX);
      await eventually(() => isUp(`http://127.0.0.1:${base}/status?password=x`), {
        timeoutMs: 20_000,
        what: "bearerbox",
      });
      start(SMSBOX);
      const report = `http://127.0.0.1:${(reports.address() as AddressInfo).port}/?type=%d`;
      const url = `http://127.0.0.1:${base + 3}/cgi-bin/sendsms`;
      await eventually(() => isUp(`http://127.0.0.1:${base + 3}/`), {
        timeoutMs: 20_000,
        what: "smsbox",
      });
      for (let at = 0; at < COUNT; at += 1) {
        const number = `+23480312${String(10_000 + at)}`;
        const query = new URLSearchParams({
          username: "u",
          password: "p",
          from: "ACME",
          to: number,
          text: `Message ${at}`,
          "dlr-mask": "31",
          "dlr-url": `${report}&number=${encodeURIComponent(number)}`,
        });
        const answer = await fetch(`${url}?${query}`);
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
      await simulator.close();
    }
  });

  function start(program: string): void {
    children.push(spawn(program, [join(folder, "kannel.conf")], { cwd: folder, stdio: "ignore" }));
  }

  function configuration(base: number, smscPort: number): string {
    return `group = core
admin-port = ${base}
admin-password = x
admin-interface = 127.0.0.1
smsbox-port = ${base + 1}
smsbox-interface = 127.0.0.1
box-deny-ip = "*.*.*.*"
box-allow-ip = "127.0.0.1"
dlr-storage = internal

group = smsc
smsc = smpp
host = 127.0.0.1
port = ${smscPort}
smsc-username = kannel
smsc-password = secret
system-type = ""
transceiver-mode = true
max-pending-submits = 50
source-addr-ton = 5
source-addr-npi = 0
dest-addr-ton = 1
dest-addr-npi = 1

group = smsbox
bearerbox-host = 127.0.0.1
bearerbox-port = ${base + 1}
sendsms-port = ${base + 3}
sendsms-interface = 127.0.0.1

group = sendsms-user
username = u
password = p
`;
  }
});

async function isUp(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}
