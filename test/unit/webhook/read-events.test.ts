/** Pages of events over a stream in memory. */
import { expect } from "chai";
import type { AppError } from "../../../services/shared/core/errors.ts";
import {
  createReadEvents,
  type EventLog,
  type EventQuery,
} from "../../../services/webhook/app/read-events.ts";
import type { WebhookEvent } from "../../../services/webhook/domain/event-fan-out.ts";

const TENANT = "ten_00000000000000000000000001";
const never = new AbortController().signal;

function event(name: string, changes: Partial<WebhookEvent> = {}): WebhookEvent {
  return {
    ...{ tenantId: TENANT, mode: "live", type: "message.sent", source: "api", recordedAtMs: 0 },
    ...{ redacts: false, eventId: () => name, body: () => name },
    ...changes,
  };
}

/** Entries by their number; `firstSeq` is the first that is kept. */
function memoryLog(
  entries: Map<number, WebhookEvent[]>,
  bounds: { firstSeq: number; lastSeq: number },
) {
  const wakes = new Set<() => void>();
  const log: EventLog = {
    bounds: async () => ({ ...bounds }),
    async nextEntry(_tenantId, from) {
      const seq = [...entries.keys()].sort((a, b) => a - b).find((one) => one >= from);
      return seq === undefined ? undefined : { seq, events: entries.get(seq) ?? [] };
    },
    watch: () => ({ next: () => new Promise((resolve) => wakes.add(resolve)), close() {} }),
  };
  return {
    log,
    add(seq: number, events: WebhookEvent[]) {
      entries.set(seq, events);
      bounds.lastSeq = seq;
      for (const wake of wakes) wake();
    },
    isWatched: () => wakes.size > 0,
  };
}

describe("reading events", () => {
  const box = { seal: (text: string, c: string) => `${c}#${text}`, open: unseal };
  function unseal(text: string, context: string): string {
    if (!text.startsWith(`${context}#`)) throw new Error("sealed for another place");
    return text.slice(context.length + 1);
  }
  const query: EventQuery = {
    ...{ tenantId: TENANT, mode: "live", types: [], cursor: "", limit: 50, waitMs: 0 },
  };
  const at = (place: string) => box.seal(place, `events|${TENANT}|live`);
  const readerOf = (log: EventLog, ending = never, waitsMax?: number) =>
    createReadEvents({ log, box, clock: Date, ending }, waitsMax);
  const faultOf = (call: Promise<unknown>) =>
    call.then(
      () => "none",
      (error: AppError) => error.fields?.[0]?.code,
    );

  it("begins after the last entry without a cursor, and moves on past the entries of other tenants", async () => {
    const { log, add } = memoryLog(new Map([[3, [event("old")]]]), { firstSeq: 1, lastSeq: 9 });
    const start = await readerOf(log)(query, never);
    expect(start).to.deep.equal({ bodies: [], cursor: at("10.0") });
    add(12, [event("new")]);
    const next = await readerOf(log)({ ...query, cursor: start.cursor }, never);
    expect(next).to.deep.equal({ bodies: ["new"], cursor: at("13.0") });
  });

  it("leaves out other modes, types and tenants, although the entry is the tenant's", async () => {
    const entry = [
      event("wanted"),
      event("test", { mode: "test" }),
      event("other type", { type: "message.failed" }),
      event("foreign", { tenantId: "ten_00000000000000000000000002" }),
    ];
    const { log } = memoryLog(new Map([[1, entry]]), { firstSeq: 1, lastSeq: 1 });
    const asked = { ...query, types: ["message.sent"], cursor: at("1.0") };
    expect((await readerOf(log)(asked, never)).bodies).to.deep.equal(["wanted"]);
  });

  it("ends a page inside an entry, and reads at most 250 entries for one", async () => {
    const many = new Map(
      Array.from({ length: 300 }, (_, seq) => [seq + 1, [event("test", { mode: "test" })]]),
    );
    many.set(1, [event("one"), event("two"), event("three")]);
    const { log } = memoryLog(many, { firstSeq: 1, lastSeq: 300 });
    const first = await readerOf(log)({ ...query, cursor: at("1.0"), limit: 2 }, never);
    expect(first).to.deep.equal({ bodies: ["one", "two"], cursor: at("1.2") });
    const second = await readerOf(log)({ ...query, cursor: first.cursor }, never);
    expect(second).to.deep.equal({ bodies: ["three"], cursor: at("251.0") });
  });

  it("refuses a cursor before the first kept entry, beyond the last, of another mode, or invented", async () => {
    const { log } = memoryLog(new Map(), { firstSeq: 5, lastSeq: 9 });
    const ask = (cursor: string) => faultOf(readerOf(log)({ ...query, cursor }, never));
    expect(await ask(at("4.0"))).to.equal("out_of_range");
    expect(await ask(at("11.0"))).to.equal("out_of_range");
    expect(await ask(at("10.0"))).to.equal("none");
    expect(await ask(at("ten.0"))).to.equal("invalid_value");
    expect(await ask(box.seal("6.0", `events|${TENANT}|test`))).to.equal("invalid_value");
    const types = { ...query, types: ["message.flown"] };
    expect(await faultOf(readerOf(log)(types, never))).to.equal("invalid_value");
  });

  it("waits for the first event, and answers at once when the process ends", async () => {
    const stream = memoryLog(new Map(), { firstSeq: 1, lastSeq: 4 });
    const waiting = readerOf(stream.log)({ ...query, waitMs: 20_000 }, never);
    while (!stream.isWatched()) await new Promise(setImmediate);
    stream.add(5, [event("came")]);
    expect((await waiting).bodies).to.deep.equal(["came"]);
    const ended = AbortSignal.abort();
    const read = readerOf(stream.log, ended);
    expect((await read({ ...query, waitMs: 20_000 }, never)).bodies).to.deep.equal([]);
  });

  it("refuses a call that would wait beyond the most that may, and none that does not wait", async () => {
    const { log } = memoryLog(new Map(), { firstSeq: 1, lastSeq: 4 });
    const read = readerOf(log, AbortSignal.abort(), 0);
    const refused = await read({ ...query, waitMs: 1 }, never).catch(
      (error: AppError) => error.code,
    );
    expect(refused).to.equal("rate_limited");
    expect((await read(query, never)).bodies).to.deep.equal([]);
  });
});
