import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import { expect } from "chai";
import { ErrorInfoSchema } from "../../../proto/gen/google/rpc/error_details_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import { activeCall, currentCall, runInCall } from "../../../services/shared/rpc/call-context.ts";
import type { CallReport } from "../../../services/shared/rpc/call-report.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { eventually } from "../../support/poll.ts";
import { EchoService } from "../../support/rpc-echo.ts";
import { createRpcLinks, RPC_KINDS } from "../../support/rpc-links.ts";

type Echo = Partial<ServiceImpl<typeof EchoService>>;

for (const [kind, open] of Object.entries(RPC_KINDS)) {
  describe(`RPC ${kind}`, () => {
    const links = createRpcLinks();
    const logged: { fields: object; text: string }[] = [];
    const reports: CallReport[] = [];
    afterEach(() => links.close());

    async function serve(echo: Echo): Promise<Client<typeof EchoService>> {
      logged.length = 0;
      reports.length = 0;
      const transport = await open(links, {
        routes: (router) => router.service(EchoService, echo),
        log: { error: (fields, text) => logged.push({ fields, text }) },
        onCall: (report) => reports.push(report),
      });
      return createClient(EchoService, transport);
    }

    it("answers a unary call", async () => {
      const client = await serve({ say: ({ value }) => ({ value: `${value}!` }) });
      expect((await client.say({ value: "hello" })).value).to.equal("hello!");
    });

    it("streams answers in order, and an empty stream is a success", async () => {
      const client = await serve({
        async *count({ value }) {
          for (let n = 1n; n <= value; n += 1n) yield { value: n };
        },
      });
      expect(await collect(client.count({ value: 500n }))).to.deep.equal(
        Array.from({ length: 500 }, (_, index) => BigInt(index + 1)),
      );
      expect(await collect(client.count({ value: 0n }))).to.deep.equal([]);
    });

    it("accepts a stream of requests", async () => {
      const client = await serve({
        async sum(requests) {
          let total = 0n;
          for await (const { value } of requests) total += value;
          return { value: total };
        },
      });
      async function* numbers() {
        for (let n = 1n; n <= 300n; n += 1n) yield { value: n };
      }
      expect((await client.sum(numbers())).value).to.equal(45_150n);
    });

    it("answers each request of a two-way stream before the next is sent", async () => {
      const client = await serve({
        async *chat(requests) {
          for await (const { value } of requests) yield { value: value.toUpperCase() };
        },
      });
      const received: string[] = [];
      let answered = Promise.withResolvers<void>();
      async function* talk() {
        for (const value of ["one", "two", "three"]) {
          answered = Promise.withResolvers();
          yield { value };
          await answered.promise;
        }
      }
      for await (const { value } of client.chat(talk())) {
        received.push(value);
        answered.resolve();
      }
      expect(received).to.deep.equal(["ONE", "TWO", "THREE"]);
    });

    it("passes an AppError to the caller with code, text, fields, facts and wait", async () => {
      const fields = [{ field: "to", code: "required", message: "Say who to send to." }];
      const extra = { required_amount: "4.0000", currency: "NGN" };
      const client = await serve({
        say() {
          throw new AppError("conflict", "Held by another send.", {
            fields,
            extra,
            retryAfterMs: 1250,
            cause: new Error("a detail of ours"),
          });
        },
      });
      const error = toAppError(await failureOf(client.say({})));
      expect(error).to.include({ code: "conflict", message: "Held by another send." });
      expect(error.fields).to.deep.equal(fields);
      expect(error.extra).to.deep.equal(extra);
      expect(error.retryAfterMs).to.equal(1250);
      expect(logged).to.deep.equal([]);
    });

    it("shows an unknown error as internal_error and keeps its text in the log only", async () => {
      const cause = new Error("password=hunter2");
      const client = await serve({
        say() {
          throw cause;
        },
        async *count() {
          yield { value: 1n };
          throw cause;
        },
      });
      for (const call of [() => client.say({}), () => collect(client.count({}))]) {
        const error = await failureOf(call());
        expect(error.code).to.equal(Code.Internal);
        expect(error.message).not.to.include("hunter2");
        expect(JSON.stringify(error.findDetails(ErrorInfoSchema))).not.to.include("hunter2");
        expect(toAppError(error).code).to.equal("internal_error");
      }
      expect(logged.map(({ fields }) => (fields as { error: unknown }).error)).to.deep.equal([
        cause,
        cause,
      ]);
    });

    it("answers UNIMPLEMENTED for a method that the service does not have", async () => {
      const client = await serve({});
      expect((await failureOf(client.say({}))).code).to.equal(Code.Unimplemented);
    });

    it("ends a call at its deadline even when the handler continues, and aborts its signal", async () => {
      const aborted = Promise.withResolvers<unknown>();
      const client = await serve({
        say: (_request, { signal }) =>
          new Promise(() => {
            signal.addEventListener("abort", () => aborted.resolve(signal.reason));
          }),
      });
      const error = await failureOf(client.say({}, { timeoutMs: 500 }));
      expect(error.code).to.equal(Code.DeadlineExceeded);
      expect(toAppError(error).code).to.equal("service_unavailable");
      // The service's own timer and the caller's reset of the stream race.
      expect(ConnectError.from(await aborted.promise).code).to.be.oneOf([
        Code.DeadlineExceeded,
        Code.Canceled,
      ]);
    });

    it("shows the handler how much time is left", async () => {
      let left: number | undefined;
      const client = await serve({
        say(_request, context) {
          left = context.timeoutMs();
          return {};
        },
      });
      await client.say({}, { timeoutMs: 5000 });
      expect(left).to.be.within(1000, 5000);
      await client.say({});
      expect(left, "the default deadline").to.be.within(5001, 10_000);
    });

    it("never lets a call outlive the call on whose behalf it is made", async () => {
      let left: number | undefined;
      const client = await serve({
        say(_request, context) {
          left = context.timeoutMs();
          return {};
        },
      });
      await runInCall({ requestId: "req_1", deadlineAtMs: Date.now() + 800 }, () =>
        client.say({}, { timeoutMs: 5000 }),
      );
      expect(left).to.be.within(1, 800);
    });

    it("does not apply the deadline of a served call to work that its handler leaves running", async () => {
      const left = Promise.withResolvers<unknown>();
      let later = (): void => {};
      const client = await serve({
        say({ value }) {
          if (value === "first") {
            const answered = new Promise<void>((resolve) => {
              later = resolve;
            });
            left.resolve(answered.then(() => client.say({ value: "second" })));
          }
          return { value };
        },
      });
      const deadlineAtMs = Date.now() + 1000;
      await client.say({ value: "first" }, { timeoutMs: 1000 });
      await eventually(() => Date.now() > deadlineAtMs);
      later();
      expect(await left.promise).to.include({ value: "second" });
    });

    it("cancels the handler when the caller aborts a unary call", async () => {
      const started = Promise.withResolvers<HandlerContext>();
      const client = await serve({
        say(_request, context) {
          started.resolve(context);
          return new Promise(() => {});
        },
      });
      const abort = new AbortController();
      const call = failureOf(client.say({}, { signal: abort.signal }));
      const { signal } = await started.promise;
      const ended = new Promise((resolve) => signal.addEventListener("abort", resolve));
      abort.abort();
      expect((await call).code).to.equal(Code.Canceled);
      await ended;
    });

    it("ends the handler of a stream whose reader aborts", async () => {
      const ended = Promise.withResolvers<void>();
      const client = await serve({
        async *count(_request, { signal }) {
          try {
            yield { value: 1n };
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          } finally {
            ended.resolve();
          }
        },
      });
      const abort = new AbortController();
      const error = await failureOf(
        (async () => {
          for await (const _ of client.count({}, { signal: abort.signal })) abort.abort();
        })(),
      );
      expect(error.code).to.equal(Code.Canceled);
      await ended.promise;
    });

    it("refuses a call whose signal was aborted before it began", async () => {
      let calls = 0;
      const client = await serve({
        say() {
          calls += 1;
          return {};
        },
      });
      const error = await failureOf(client.say({}, { signal: AbortSignal.abort() }));
      expect(error.code).to.equal(Code.Canceled);
      expect(calls).to.equal(0);
    });

    it("carries headers and trailers both ways", async () => {
      const client = await serve({
        say(_request, { requestHeader, responseHeader, responseTrailer }) {
          responseHeader.set("x-seen", requestHeader.get("x-asked") ?? "nothing");
          responseTrailer.set("x-last", "bye");
          return {};
        },
        async *count(_request, { requestHeader, responseHeader, responseTrailer }) {
          responseHeader.set("x-seen", requestHeader.get("x-asked") ?? "nothing");
          yield { value: 1n };
          responseTrailer.set("x-last", "bye");
        },
      });
      const seen: (string | null)[] = [];
      const options = {
        headers: { "x-asked": "for this" },
        onHeader: (headers: Headers) => seen.push(headers.get("x-seen")),
        onTrailer: (trailers: Headers) => seen.push(trailers.get("x-last")),
      };
      await client.say({}, options);
      await collect(client.count({}, options));
      expect(seen).to.deep.equal(["for this", "bye", "for this", "bye"]);
    });

    it("passes request id, tenant and trace on, in unary calls and while streaming", async () => {
      const seen: unknown[] = [];
      const note = () => {
        const { requestId, tenantId, traceparent } = currentCall();
        seen.push({ requestId, tenantId, traceparent });
      };
      const client = await serve({
        async say() {
          await Promise.resolve();
          note();
          return {};
        },
        async *count() {
          note();
          yield { value: 1n };
          note();
        },
      });
      const context = {
        requestId: "req_01J00000000000000000000000",
        tenantId: "ten_01J00000000000000000000000",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      };
      await runInCall(context, () => client.say({}));
      await runInCall(context, () => collect(client.count({})));
      expect(seen).to.deep.equal([context, context, context]);
      expect(activeCall(), "nothing leaks out").to.equal(undefined);
    });

    it("reports each call once, with its method and status", async () => {
      const client = await serve({
        say({ value }) {
          if (value === "bad") throw new AppError("not_found", "No such thing.");
          return {};
        },
        async *count() {
          yield { value: 1n };
        },
      });
      await client.say({});
      await failureOf(client.say({ value: "bad" }));
      await collect(client.count({}));
      expect(reports.map(({ method, code }) => `${method} ${code}`)).to.deep.equal([
        "test.EchoService/Say OK",
        "test.EchoService/Say NOT_FOUND",
        "test.EchoService/Count OK",
      ]);
      expect(reports.every(({ durationMs }) => durationMs >= 0)).to.equal(true);
    });

    it("converts the failure of a further call: unreachable there is unavailable here", async () => {
      const gone = links.connect({ target: "127.0.0.1:1" });
      const client = await serve({
        say: () => createClient(EchoService, gone).say({}),
      });
      const error = await failureOf(client.say({}));
      expect(error.code).to.equal(Code.Unavailable);
      expect(error.rawMessage).not.to.include("127.0.0.1");
      expect(toAppError(error).code).to.equal("service_unavailable");
    });
  });
}

async function collect<T>(items: AsyncIterable<{ value: T }>): Promise<T[]> {
  const values: T[] = [];
  for await (const { value } of items) values.push(value);
  return values;
}

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(ConnectError);
  return outcome as ConnectError;
}
