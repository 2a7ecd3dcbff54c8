import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import { createSendBatcher, sendList } from "../../../gateway/operations/sends/send-batcher.ts";
import type { AppError } from "../../../services/shared/core/errors.ts";
import { eventually } from "../../support/poll.ts";

type Client = Parameters<typeof createSendBatcher>[0];
type Request = { tenantId: string; body: string };
type Item = { positions: number[]; results: unknown[] };
type Call = {
  requests: Request[];
  requestIds: string[];
  timeoutMs?: number;
  /** Answers the requests at these positions; by default with their own bodies. */
  answer(positions?: number[], results?: unknown[]): void;
  end(error?: unknown): void;
};

const accepted = ({ body }: Request) => ({ result: { case: "response", value: { sendId: body } } });
/** How long a send may wait in the test of late sends; longer than a busy machine pauses a process. */
const WAIT_MAX_MS = 1000;

const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A messaging client that holds every call until the test ends it. */
function heldMessaging(sendMany?: (call: { requests: Request[] }) => Promise<unknown>) {
  const calls: Call[] = [];
  async function* sendEach(
    call: Pick<Call, "requests" | "requestIds">,
    options: { timeoutMs: number },
  ): AsyncGenerator<Item> {
    const items: (Item | { error: unknown } | undefined)[] = [];
    let wake = (): void => {};
    const push = (item: (typeof items)[number]): void => {
      items.push(item);
      wake();
    };
    calls.push({
      ...call,
      ...options,
      answer(positions = call.requests.map((_, at) => at), results = undefined) {
        const own = positions.map((at) => accepted(call.requests[at] as Request));
        push({ positions, results: results ?? own });
      },
      end: (error) => push(error === undefined ? undefined : { error }),
    });
    for (;;) {
      if (items.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const item = items.shift();
      if (item === undefined) return;
      if ("error" in item) throw item.error;
      yield item;
    }
  }
  return { client: { sendEach, sendMany } as unknown as Client, calls };
}

/** Waits until `count` calls have started. */
async function started(calls: readonly Call[], count: number): Promise<void> {
  await eventually(() => calls.length >= count, { everyMs: 1 });
}

describe("single sends", () => {
  const send = (sendOne: ReturnType<typeof createSendBatcher>, body: string, tenantId = "ten_1") =>
    sendOne(tenantId, { tenantId, body }, `req_${body}`);

  it("that waited too long are refused and not sent", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendBatcher(client, WAIT_MAX_MS);
    const all = Array.from({ length: 385 }, (_, at) => send(sendOne, `${at}`));
    const late = (all.at(-1) as Promise<unknown>).catch((error: AppError) => error.code);
    await started(calls, 6);
    const overMs = performance.now() + WAIT_MAX_MS;
    await eventually(() => performance.now() > overMs);
    for (const call of calls) {
      call.answer();
      call.end();
    }
    expect(await late).to.equal("service_unavailable");
    expect(await Promise.all(all.slice(0, -1))).to.have.length(384);
    expect(calls.flatMap(({ requests }) => requests)).to.have.length(384);
  });

  it("after an idle interval start at once, under their request id, with a timeout of 10 s", async () => {
    const { client, calls } = heldMessaging();
    const one = send(createSendBatcher(client), "a");
    await tick();
    expect(calls.map(({ requestIds }) => requestIds)).to.deep.equal([["req_a"]]);
    expect(calls[0]?.timeoutMs).to.equal(10_000);
    calls[0]?.answer();
    expect((await one).sendId).to.equal("a");
  });

  it("of all accounts that arrive after a call share the next one, in order", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendBatcher(client);
    const first = send(sendOne, "first");
    await tick();
    const sends = Array.from({ length: 100 }, (_, at) => send(sendOne, `${at}`, `ten_${at % 3}`));
    await started(calls, 3);
    expect(calls.map(({ requests }) => requests.length)).to.deep.equal([1, 64, 36]);
    for (const call of calls) call.answer();
    expect((await first).sendId).to.equal("first");
    expect((await Promise.all(sends)).map(({ sendId }) => sendId)).to.deep.equal(
      Array.from({ length: 100 }, (_, at) => `${at}`),
    );
  });

  it("are answered one by one: slow sends do not delay others", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendBatcher(client);
    const slow: Promise<unknown>[] = [];
    for (let at = 0; at < 20; at += 1) {
      slow.push(send(sendOne, `slow ${at}`, "ten_slow"));
      const quick = send(sendOne, `quick ${at}`);
      await started(calls, at + 1);
      calls[at]?.answer([1]);
      expect((await quick).sendId).to.equal(`quick ${at}`);
    }
    for (const call of calls) call.answer([0]);
    await Promise.all(slow);
  });

  it("of one account in a flood leave capacity for other accounts", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendBatcher(client);
    const flood = Array.from({ length: 600 }, (_, at) => send(sendOne, `flood ${at}`, "ten_flood"));
    const other = send(sendOne, "other");
    await started(calls, 7);
    expect(calls.flatMap(({ requests }) => requests)).to.have.length(385);
    calls[6]?.answer();
    expect((await other).sendId).to.equal("other");
    while (calls.flatMap(({ requests }) => requests).length < 601) {
      for (const call of calls) call.answer();
      await tick();
    }
    for (const call of calls) call.answer();
    await Promise.all(flood);
  });

  it("fail one by one, with the error of a call of their own", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendBatcher(client);
    const good = send(sendOne, "good");
    const bad = send(sendOne, "bad").catch((error: AppError) => error);
    await tick();
    const failure = {
      code: "insufficient_balance",
      message: "Too little.",
      fields: [{ field: "to", code: "x", message: "y" }],
      extra: { required_amount: "4.0000" },
      retryAfterMs: 1500n,
    };
    calls[0]?.answer([1], [{ result: { case: "failure", value: failure } }]);
    const error = (await bad) as AppError;
    expect(error).to.include({
      code: "insufficient_balance",
      message: "Too little.",
      retryAfterMs: 1500,
    });
    expect(error.fields).to.deep.equal([{ field: "to", code: "x", message: "y" }]);
    expect(error.extra).to.deep.equal({ required_amount: "4.0000" });
    calls[0]?.answer([0]);
    expect((await good).sendId).to.equal("good");
  });

  it("are not retried when their call fails: results received stay, the rest is unavailable", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendBatcher(client);
    const codes = Promise.all(
      ["a", "b", "c"].map((body) =>
        send(sendOne, body).then(
          ({ sendId }) => sendId,
          (error: AppError) => error.code,
        ),
      ),
    );
    await tick();
    calls[0]?.answer([1]);
    calls[0]?.end(new ConnectError("late", Code.DeadlineExceeded));
    expect(await codes).to.deep.equal(["service_unavailable", "b", "service_unavailable"]);
    await tick();
    expect(calls).to.have.length(1);
  });

  it("without a result at the end of the call fail", async () => {
    const { client, calls } = heldMessaging();
    const one = send(createSendBatcher(client), "a").catch((error: AppError) => error.code);
    await tick();
    calls[0]?.end();
    expect(await one).to.equal("internal_error");
  });
});

describe("a list of recipients", () => {
  const request = { tenantId: "ten_1", body: "a" } as unknown as Parameters<typeof sendList>[1];

  it("uses a call of its own, under its request id", async () => {
    const asked: unknown[] = [];
    const { client } = heldMessaging(async (call) => {
      asked.push(call);
      return { results: call.requests.map(accepted) };
    });
    expect((await sendList(client, request, "req_a")).sendId).to.equal("a");
    expect(asked).to.deep.equal([{ requests: [request], requestIds: ["req_a"] }]);
  });

  it("fails without a result, and is not retried when its call fails", async () => {
    const codes = [async () => ({ results: [] }), () => Promise.reject(new Error("gone"))].map(
      (sendMany) =>
        sendList(heldMessaging(sendMany).client, request, "req_a").catch(
          (error: AppError) => error.code,
        ),
    );
    expect(await Promise.all(codes)).to.deep.equal(["internal_error", "internal_error"]);
  });
});
