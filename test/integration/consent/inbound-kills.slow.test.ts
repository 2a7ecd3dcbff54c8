import { expect } from "chai";
import { SHORT_CODE } from "../../../deploy/dev/demo-answer.ts";
import { paced } from "../../support/pace.ts";
import { eventually } from "../../support/poll.ts";
import { callRest } from "../../support/rest.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";

const COUNT = Number(process.env.INBOUND_COUNT ?? 2000);
const PER_MINUTE = Number(process.env.INBOUND_PER_MINUTE ?? 10_000);
const HANDSETS = 5000;
/** Killed in turn while answers come in. */
const KILLED = ["carrier", "consent"] as const;
const KILLS_MIN = 3;
/** Sends are timed before and during the flow of answers. */
const SENDS = 20;
/** A bound that a busy machine keeps; the printed ratio is the measurement. */
const SEND_MS_MAX = 500;
const QUIET_MS = 20;

type Inbound = { id: string; from: string; body: string };

describe("inbound messages of many handsets", function () {
  this.timeout(600_000);
  let stack: TestStack;
  before(async () => {
    stack = await startTestStack();
  });
  after(() => stack?.stop());

  const call = (method: string, path: string, body?: object) =>
    callRest(stack.gateway, method, path, { apiKey: stack.api_key, ...(body && { body }) });

  const handset = (index: number) => `+23480316${String(index % HANDSETS).padStart(5, "0")}`;

  async function write(text: string, index: number): Promise<void> {
    const response = await fetch(new URL("/mo", stack.smsc.control), {
      method: "POST",
      body: JSON.stringify({
        ...{ source: handset(index), destination: SHORT_CODE, text },
        system_id: stack.smsc.system_id,
      }),
    });
    expect(response.ok, await response.text()).to.equal(true);
  }

  /** Writes all texts at an even pace. */
  const flow = (texts: readonly string[]) => paced(texts, 60_000 / PER_MINUTE, write);

  /** Every inbound message whose text begins with the word. */
  async function inbound(word: string): Promise<Inbound[]> {
    const found: Inbound[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page = await call(
        "GET",
        `/v1/inbound-messages?limit=100${cursor && `&cursor=${cursor}`}`,
      );
      expect(page.status, JSON.stringify(page.body)).to.equal(200);
      found.push(...page.body.data.filter(({ body }: Inbound) => body.startsWith(word)));
      cursor = page.body.next_cursor;
    }
    return found;
  }

  async function awaitAll(texts: readonly string[], word: string): Promise<Inbound[]> {
    return eventually(
      async () => {
        const found = await inbound(word);
        return new Set(found.map(({ body }) => body)).size === texts.length && found;
      },
      { what: `${texts.length} inbound messages`, timeoutMs: 60_000, everyMs: 1000 },
    );
  }

  async function medianSendMs(): Promise<number> {
    const times: number[] = [];
    await paced(textsOf("Timed", SENDS), QUIET_MS, async (text) => {
      const begunMs = performance.now();
      const body = { to: "+2348090000001", from: stack.sender_id, body: text };
      const answer = await call("POST", "/v1/sms/messages", body);
      expect(answer.status, JSON.stringify(answer.body)).to.equal(202);
      times.push(performance.now() - begunMs);
    });
    return times.sort((a, b) => a - b)[SENDS / 2] ?? 0;
  }

  const textsOf = (word: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${word} ${index}`);

  it("loses none at 10,000 a minute, and sends go on", async () => {
    await medianSendMs();
    const calmMs = await medianSendMs();
    const texts = textsOf("Paced", COUNT);
    const flowing = flow(texts);
    const busyMs = await medianSendMs();
    await flowing;
    const found = await awaitAll(texts, "Paced");
    expect(found.length, "stored twice").to.equal(COUNT);
    const ratio = busyMs / calmMs;
    process.stdout.write(
      `        ${COUNT} at ${PER_MINUTE} a minute; a send took ${ratio.toFixed(2)} times as long\n`,
    );
    expect(busyMs).to.be.below(SEND_MS_MAX);
  });

  it("stores and announces each once, while carrier and consent are killed", async () => {
    const texts = textsOf("Killed", COUNT);
    let isDone = false;
    const flowing = flow(texts).finally(() => {
      isDone = true;
    });
    let kills = 0;
    while (!isDone) {
      const name = KILLED[kills++ % KILLED.length] ?? "carrier";
      await stack.kill(name);
      await stack.restart(name);
    }
    expect(kills).to.be.at.least(KILLS_MIN);
    await flowing;
    const found = await awaitAll(texts, "Killed");
    expect(found.length, "stored twice").to.equal(COUNT);

    const announced = await eventually(
      async () => {
        const ids = await announcedIds();
        return found.every(({ id }) => ids.has(id)) && ids;
      },
      { what: "all webhooks", timeoutMs: 60_000, everyMs: 1000 },
    );
    const twice = found.filter(({ id }) => announced.get(id)?.size !== 1);
    expect(twice, "announced by two events").to.deep.equal([]);
  });

  /** The events that announced each inbound message. A webhook may come twice, with the same event id. */
  async function announcedIds(): Promise<Map<string, Set<string>>> {
    const response = await fetch(`${stack.receiver.events}?contains=inbound_message.received`);
    const events = (await response.json()) as { body: string }[];
    const ids = new Map<string, Set<string>>();
    for (const { body } of events) {
      const { id, data } = JSON.parse(body) as { id: string; data: { object: { id: string } } };
      const known = ids.get(data.object.id) ?? new Set();
      ids.set(data.object.id, known.add(id));
    }
    return ids;
  }
});
