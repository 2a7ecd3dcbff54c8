/** kill -9 of the carrier after a message was stored, and before its deliver_sm was answered. */
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { SHORT_CODE } from "../../../deploy/dev/demo-answer.ts";
import { eventually } from "../../support/poll.ts";
import { callRest } from "../../support/rest.ts";
import { openSimulatorControl, type SimulatorControl } from "../../support/simulator-control.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

type Shown = { id: string; body: string };

const ATTEMPTS = 5;

describe("the acknowledgement of an inbound message", function () {
  this.timeout(120_000);
  let stack: TestStack;
  let simulator: SimulatorControl;

  before(async () => {
    stack = await startTestStack();
    simulator = await openSimulatorControl(stack);
  });
  after(() => stack?.stop());

  async function write(text: string): Promise<void> {
    const response = await fetch(new URL("/mo", stack.smsc.control), {
      method: "POST",
      body: JSON.stringify({
        ...{ source: "+2348031810001", destination: SHORT_CODE, text },
        system_id: stack.smsc.system_id,
      }),
    });
    expect(response.ok, await response.text()).to.equal(true);
  }

  async function shown(text: string): Promise<Shown[]> {
    const path = "/v1/inbound-messages?limit=100";
    const answer = await callRest(stack.gateway, "GET", path, { apiKey: stack.api_key });
    return answer.body.data.filter(({ body }: Shown) => body === text);
  }

  /** Octets that a stopped process has not read yet, of all connections to its port. */
  function unread(address: string): number {
    const port = Number(address.split(":").at(-1)).toString(16).toUpperCase().padStart(4, "0");
    const lines = readFileSync("/proc/net/tcp", "utf8").split("\n").slice(1);
    return lines
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local = ""]) => local.endsWith(`:${port}`))
      .reduce((sum, fields) => sum + Number.parseInt(fields[4]?.split(":")[1] ?? "0", 16), 0);
  }

  /**
   * The carrier's call waits unread at the stopped consent service when the carrier dies; then it is carried out.
   * Returns whether the message was stored while the carrier was dead.
   */
  async function killBetween(text: string): Promise<boolean> {
    const address = stack.grpc.consent ?? "";
    const pid = stack.pid("consent");
    process.kill(pid, "SIGSTOP");
    try {
      const before = unread(address);
      await write(text);
      await eventually(() => unread(address) > before, { what: "the call", everyMs: 5 });
      await stack.kill("carrier");
    } finally {
      process.kill(pid, "SIGCONT");
    }
    const isStored = await eventually(async () => (await shown(text)).length === 1, {
      ...{ what: "the message", timeoutMs: 3000 },
    }).catch(() => false);
    await stack.restart("carrier");
    return isStored;
  }

  it("that a killed carrier never gave makes no second message and no second event", async () => {
    let stored = 0;
    for (let attempt = 1; attempt <= ATTEMPTS && stored === 0; attempt += 1) {
      const text = `Once ${attempt}`;
      if (await killBetween(text)) stored += 1;
      await eventually(
        async () => {
          const { receipts } = await simulator.counts();
          return receipts.acknowledged === receipts.sent && receipts.resent > 0;
        },
        { what: "the acknowledgement of the repeat", timeoutMs: 30_000 },
      );
      expect((await shown(text)).length).to.equal(1);
      expect((await announced(text)).length).to.equal(1);
    }
    expect(stored, "the carrier was killed after the message was stored").to.equal(1);
  });

  /** The ids of the events that announced a message with this text. */
  async function announced(text: string): Promise<string[]> {
    return eventually(
      async () => {
        const response = await fetch(`${stack.receiver.events}?contains=inbound_message.received`);
        const events = (await response.json()) as { body: string }[];
        const own = events
          .map(({ body }) => JSON.parse(body) as { id: string; data: { object: Shown } })
          .filter(({ data }) => data.object.body === text);
        return own.length > 0 && [...new Set(own.map(({ id }) => id))];
      },
      { what: "the webhook" },
    );
  }
});
