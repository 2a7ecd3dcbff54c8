import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import { createSendOne } from "../../gateway/send-together.ts";
import type { AppError } from "../../services/shared/core/errors.ts";

type Client = Parameters<typeof createSendOne>[0];
type Request = { tenantId: string; body: string };
type Call = {
  requests: Request[];
  requestIds: string[];
  answer(results?: unknown[]): void;
  fail(error: unknown): void;
};

/** A messaging that holds every call until the test lets it go. */
function heldMessaging(sendMessages?: (request: Request) => Promise<unknown>) {
  const calls: Call[] = [];
  const client = {
    sendMany: (call: { requests: Request[]; requestIds: string[] }) =>
      new Promise((resolve, reject) => {
        calls.push({
          ...call,
          fail: reject,
          answer: (results = call.requests.map(accepted)) => resolve({ results }),
        });
      }),
    sendMessages,
  };
  return { client: client as unknown as Client, calls };
}

const accepted = ({ body }: Request) => ({ result: { case: "response", value: { sendId: body } } });
const tick = () => new Promise((resolve) => setImmediate(resolve));

describe("single sends", () => {
  const send = (sendOne: ReturnType<typeof createSendOne>, body: string, tenantId = "ten_1") =>
    sendOne(tenantId, { tenantId, body }, `req_${body}`);

  it("go at once when nothing is under way, each under its own request id", async () => {
    const { client, calls } = heldMessaging();
    const one = send(createSendOne(client), "a");
    await tick();
    expect(calls.map(({ requestIds }) => requestIds)).to.deep.equal([["req_a"]]);
    calls[0]?.answer();
    expect((await one).sendId).to.equal("a");
  });

  it("that come while six calls are under way go together in the next, each with its own answer", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendOne(client);
    const sends: Promise<{ sendId: string }>[] = [];
    for (let at = 0; at < 6; at += 1) {
      sends.push(send(sendOne, `first ${at}`));
      await tick();
    }
    for (let at = 0; at < 100; at += 1) sends.push(send(sendOne, `later ${at}`));
    await tick();
    expect(calls.map(({ requests }) => requests.length)).to.deep.equal([1, 1, 1, 1, 1, 1]);
    while (calls.length < 8) {
      for (const call of calls) call.answer();
      await tick();
    }
    expect(calls.slice(6).map(({ requests }) => requests.length)).to.deep.equal([64, 36]);
    for (const call of calls) call.answer();
    const answers = await Promise.all(sends);
    expect(answers.map(({ sendId }) => sendId)).to.deep.equal([
      ...Array.from({ length: 6 }, (_, at) => `first ${at}`),
      ...Array.from({ length: 100 }, (_, at) => `later ${at}`),
    ]);
  });

  it("of different accounts never share a call", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendOne(client);
    const sends = ["ten_1", "ten_2", "ten_1"].map((tenantId, at) =>
      send(sendOne, `${at}`, tenantId),
    );
    await tick();
    const tenants = calls.map(({ requests }) => requests.map(({ tenantId }) => tenantId));
    expect(tenants).to.deep.equal([["ten_1", "ten_1"], ["ten_2"]]);
    for (const call of calls) call.answer();
    await Promise.all(sends);
  });

  it("fail alone, with the code, fields and facts that their own call would have had", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendOne(client);
    const good = send(sendOne, "good");
    const bad = send(sendOne, "bad").catch((error: AppError) => error);
    await tick();
    const [call] = calls;
    call?.answer([
      accepted(call.requests[0] as Request),
      {
        result: {
          case: "failure",
          value: {
            code: "insufficient_balance",
            message: "Too little.",
            fields: [{ field: "to", code: "x", message: "y" }],
            extra: { required_amount: "4.0000" },
            retryAfterMs: 1500n,
          },
        },
      },
    ]);
    expect((await good).sendId).to.equal("good");
    const error = (await bad) as AppError;
    expect(error).to.include({
      code: "insufficient_balance",
      message: "Too little.",
      retryAfterMs: 1500,
    });
    expect(error.fields).to.deep.equal([{ field: "to", code: "x", message: "y" }]);
    expect(error.extra).to.deep.equal({ required_amount: "4.0000" });
  });

  it("are not made again when their call fails as a whole: its outcome is unknown", async () => {
    const { client, calls } = heldMessaging();
    const sendOne = createSendOne(client);
    const codes = Promise.all(
      ["a", "b"].map((body) => send(sendOne, body).catch((error: AppError) => error.code)),
    );
    await tick();
    calls[0]?.fail(new ConnectError("late", Code.DeadlineExceeded));
    expect(await codes).to.deep.equal(["service_unavailable", "service_unavailable"]);
    await tick();
    expect(calls).to.have.length(1);
  });

  it("without an answer of theirs in a short reply are a fault, not an acceptance", async () => {
    const { client, calls } = heldMessaging();
    const one = send(createSendOne(client), "a").catch((error: AppError) => error.code);
    await tick();
    calls[0]?.answer([]);
    expect(await one).to.equal("internal_error");
  });

  it("are sent one by one to a messaging that does not know the call yet", async () => {
    const { client, calls } = heldMessaging(async ({ body }) => ({ sendId: `single ${body}` }));
    const one = send(createSendOne(client), "a");
    await tick();
    calls[0]?.fail(new ConnectError("unknown method", Code.Unimplemented));
    expect((await one).sendId).to.equal("single a");
  });
});
