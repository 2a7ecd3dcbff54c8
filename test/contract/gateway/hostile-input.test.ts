/** Hostile input gets a clear error or a timeout, and the next request is served. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect } from "chai";
import {
  API_KEY,
  exchange,
  openRestApp,
  type RestApp,
  type RestAppOptions,
} from "../../support/rest-app.ts";

const SEND = "/v1/sms/messages";

describe("REST: hostile input", () => {
  let app: RestApp | undefined;
  const open = async (options?: RestAppOptions) => {
    app = await openRestApp(options);
    return app;
  };
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  const head = (lines: readonly string[], path = SEND, method = "POST") =>
    `${[`${method} ${path} HTTP/1.1`, "Host: api", ...lines].join("\r\n")}\r\n\r\n`;
  const authorization = `Authorization: Bearer ${API_KEY}`;
  const json = "Content-Type: application/json";
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(`${app?.url}${SEND}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${API_KEY}`,
        "content-type": "application/json",
        ...headers,
      },
      body,
    });
  const good = JSON.stringify({ to: "08031234567", from: "Acme", body: "Hello" });
  const isStillServing = async () => expect((await post(good)).status).to.equal(202);

  for (const [name, body] of [
    ["nothing at all", ""],
    ["a word", "hello"],
    ["an array", "[]"],
    ["null", "null"],
    ["a text", '"text"'],
    ["a number too great for anything", "1e999"],
    ["half an object", '{"to":'],
    ["a trailing comma", '{"to":"1",}'],
    ["single quotes", "{'to':'1'}"],
    ["a byte order mark", `\ufeff${good}`],
    ["the same name twice", good.replace("}", ',"to":"08031234568"}')],
    ["the same name twice, once escaped", good.replace("}", ',"t\\u006f":"08031234568"}')],
    ["a NUL after the object", `${good}\0`],
    ["objects nested 100,000 deep", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
    ["4 MiB of opening brackets", "[".repeat(4_194_304)],
  ] as const) {
    it(`422 invalid_json for a body that is ${name}`, async () => {
      await open();
      const answer = await post(body);
      const problem = (await answer.json()) as { code: string; errors: unknown[] };
      expect(answer.status).to.equal(422);
      expect(problem.code).to.equal("validation_error");
      expect(problem.errors).to.have.length(1);
      expect(problem.errors[0]).to.include({ field: "", code: "invalid_json" });
      await isStillServing();
    });
  }

  it("422 invalid_json for bytes that are not UTF-8, lone surrogates and overlong forms among them", async () => {
    await open();
    for (const bytes of [
      [0xff],
      [0xc3],
      [0xed, 0xa0, 0x80],
      [0xc0, 0xaf],
      [0xf5, 0x80, 0x80, 0x80],
    ]) {
      const body = Buffer.concat([Buffer.from('{"to":"'), Buffer.from(bytes), Buffer.from('"}')]);
      const answer = await post(new Uint8Array(body));
      expect(answer.status).to.equal(422);
      const problem = (await answer.json()) as { errors: { code: string }[] };
      expect(problem.errors[0]?.code).to.equal("invalid_json");
    }
  });

  it("members named __proto__ and constructor are unknown fields, and change no object", async () => {
    await open();
    const answer = await post(
      good.replace("}", ',"__proto__":{"from":"Evil"},"constructor":{"prototype":{"x":1}}}'),
    );
    expect(answer.status).to.equal(422);
    const problem = (await answer.json()) as { errors: { field: string; code: string }[] };
    expect(problem.errors.map(({ field, code }) => `${field} ${code}`)).to.have.members([
      "__proto__ unknown_field",
      "constructor unknown_field",
    ]);
    expect(({} as Record<string, unknown>).x).to.equal(undefined);
  });

  it("a body text with a lone surrogate is refused, not changed", async () => {
    await open();
    const answer = await post('{"to":"08031234567","from":"Acme","body":"\\ud83d"}');
    expect(answer.status).to.equal(422);
    expect(await answer.text()).to.contain('"field":"body","code":"invalid_format"');
  });

  it("300,000 unknown fields get one error, in bounded time and memory", async function () {
    this.timeout(20_000);
    await open();
    const fields = Array.from({ length: 300_000 }, (_, at) => `"f${at}":0`).join(",");
    const before = process.memoryUsage().rss;
    const answer = await post(`{${fields}}`);
    expect(answer.status).to.equal(422);
    const problem = (await answer.json()) as { errors: unknown[] };
    expect(problem.errors.length).to.equal(1);
    expect(process.memoryUsage().rss - before).to.be.below(300e6);
    await isStillServing();
  });

  it("a list of 149,000 recipients is too_many, without a check of each", async function () {
    this.timeout(20_000);
    await open();
    const to = `[${'"08031234567",'.repeat(148_999)}"08031234567"]`;
    const answer = await fetch(`${app?.url}${SEND}/bulk`, {
      method: "POST",
      headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
      body: `{"from":"Acme","body":"Hello","to":${to}}`,
    });
    expect(answer.status).to.equal(422);
    const problem = (await answer.json()) as { errors: { field: string; code: string }[] };
    expect(problem.errors.map(({ field, code }) => `${field} ${code}`)).to.deep.equal([
      "to too_many",
    ]);
  });

  it("4 MiB + 1: 413 before the body is sent, when its length is announced", async () => {
    const { port } = await open();
    const { answers, ended } = await exchange(port, (send) =>
      send(head([json, "Content-Length: 4194305"])),
    );
    expect(answers[0]?.status).to.equal(413);
    expect(answers[0]?.head).to.match(/^connection: close$/im);
    expect(answers[0]?.head).to.match(/^cache-control: no-store$/im);
    expect(ended).to.equal(true);
  });

  it("4 MiB + 1: a client that sends everything first can still read the 413", async () => {
    await open();
    const answer = await post(" ".repeat(4_194_305));
    expect(answer.status).to.equal(413);
    expect(((await answer.json()) as { code: string }).code).to.equal("payload_too_large");
    await isStillServing();
  });

  it("a body of exactly 4 MiB is accepted", async () => {
    await open();
    const answer = await post(good.padEnd(4_194_304, " "));
    expect(answer.status).to.equal(202);
  });

  it("an endless chunked body gets 413 at the limit, and the connection closes", async function () {
    this.timeout(20_000);
    const { port } = await open();
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    let isConnectionDone = false;
    const { answers, ended } = await exchange(
      port,
      async (send) => {
        send(head([authorization, json, "Transfer-Encoding: chunked"]));
        while (!isConnectionDone) {
          send(chunk);
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
      { timeoutMs: 15_000 },
    ).finally(() => {
      isConnectionDone = true;
    });
    expect(answers.map(({ status }) => status)).to.deep.equal([413]);
    expect(ended).to.equal(true);
  });

  it("a body that arrives too slowly gets 408, and the connection closes", async () => {
    const { port } = await open({ bodyTimeoutMs: 100 });
    const { answers, ended } = await exchange(port, (send) =>
      send(`${head([authorization, json, "Content-Length: 100"])}{"to":`),
    );
    expect(answers[0]?.status).to.equal(408);
    expect(answers[0]?.body).to.contain('"code":"request_timeout"');
    expect(ended).to.equal(true);
  });

  it("headers that arrive too slowly get 408, and the connection closes", async () => {
    const { port } = await open({
      serverOptions: { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 50 },
    });
    const { answers, ended } = await exchange(port, (send) =>
      send(`POST ${SEND} HTTP/1.1\r\nHost:`),
    );
    expect(answers[0]?.status).to.equal(408);
    expect(ended).to.equal(true);
  });

  it("a request that completes after its 408 is not executed", async () => {
    const { port } = await open({
      serverOptions: { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 50 },
    });
    const bytes = `${head([authorization, json, `Content-Length: ${good.length}`])}${good}`;
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.write(bytes.slice(0, 50));
    await once(socket, "end");
    socket.write(bytes.slice(50));
    await new Promise((resolve) => setTimeout(resolve, 200));
    socket.end();
    await once(socket, "close");
    expect(text).to.match(/^HTTP\/1\.1 408 /);
    expect(text.match(/HTTP\/1\.1/g)).to.have.length(1);
    expect(app?.finished).to.deep.equal([]);
  });

  it("a request refused before its body gets no second response when the body does not arrive", async () => {
    const { port } = await open({
      serverOptions: { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 50 },
    });
    const { answers, ended } = await exchange(port, (send) =>
      send(head([authorization, "Content-Type: text/plain", "Content-Length: 100"])),
    );
    expect(answers.map(({ status }) => status)).to.deep.equal([415]);
    expect(ended).to.equal(true);
  });

  it("HTTP/1.0 gets no interim response", async () => {
    const { port } = await open();
    const lines = [authorization, json, "Expect: 100-continue", `Content-Length: ${good.length}`];
    const socket = connect(port, "127.0.0.1");
    socket.setEncoding("latin1").write(`${head(lines).replace("HTTP/1.1", "HTTP/1.0")}${good}`);
    const chunks = await socket.toArray();
    expect(chunks.join("")).to.match(/^HTTP\/1\.1 202 /);
  });

  it("too many headers get 431 as a problem", async () => {
    const { port } = await open();
    const flood = Array.from({ length: 2000 }, (_, at) => `X-Flood-${at}: ${"x".repeat(20)}`);
    const { answers } = await exchange(port, (send) => send(head(flood)));
    expect(answers[0]?.status).to.equal(431);
    expect(answers[0]?.head).to.match(/^content-type: application\/problem\+json$/im);
    expect(answers[0]?.head).to.match(/^x-request-id: req_/im);
    expect(answers[0]?.body).to.contain('"code":"headers_too_large"');
  });

  it("a request target of 20,000 characters gets 431 as a problem", async () => {
    const { port } = await open();
    const { answers } = await exchange(port, (send) =>
      send(head([authorization], `/v1/messages?to=${"1".repeat(20_000)}`, "GET")),
    );
    expect(answers[0]?.status).to.equal(431);
  });

  for (const [name, bytes] of [
    ["no HTTP at all", "hello there\r\n\r\n"],
    ["a TLS greeting", "\x16\x03\x01\x02\x00\x01"],
    ["two different lengths", head(["Content-Length: 5", "Content-Length: 6"])],
    ["a length and chunks", head(["Content-Length: 5", "Transfer-Encoding: chunked"])],
    ["a NUL in a header", head(["X-Evil: a\0b"])],
    ["no host", `GET /v1/balance HTTP/1.1\r\n\r\n`],
  ] as const) {
    it(`400 as a problem for ${name}`, async () => {
      const { port } = await open();
      const { answers } = await exchange(port, (send) => send(bytes), { count: 1 });
      expect(answers[0]?.status).to.equal(400);
      expect(answers[0]?.body).to.contain('"code":"bad_request"');
      expect(answers[0]?.head).to.match(/^x-request-id: req_/im);
    });
  }

  for (const path of [
    "/v1/messages/%",
    "/v1/messages/%ff",
    "/v1/messages/%00",
    "/v1/messages/..%2f..%2fetc%2fpasswd",
    `/v1/messages/${"x".repeat(8000)}`,
    "//",
    "/v1/messages/a/b/c",
    "/v1//messages",
    "http://other.example/v1/nothing",
    "*",
  ]) {
    it(`404 for the path ${path.slice(0, 40)}`, async () => {
      const { port } = await open();
      const { answers } = await exchange(port, (send) => send(head([authorization], path, "GET")), {
        count: 1,
      });
      expect(answers[0]?.status).to.equal(404);
    });
  }

  it("malformed percent-encoding in a query is a fault of the parameter", async () => {
    await open();
    const answer = await fetch(`${app?.url}/v1/messages?from=%ff&to=%zz`, {
      headers: { authorization: `Bearer ${API_KEY}` },
    });
    expect(answer.status).to.equal(422);
    const problem = (await answer.json()) as { errors: { field: string; code: string }[] };
    expect(problem.errors.map(({ field, code }) => `${field} ${code}`)).to.deep.equal([
      "from invalid_format",
      "to invalid_format",
    ]);
  });

  it("pipelined requests are answered in order", async () => {
    const { port } = await open();
    const one = (path: string) => head([authorization], path, "GET");
    const { answers } = await exchange(
      port,
      (send) => send(one("/v1/messages/x") + one("/v1/messages?limit=0") + one("/openapi.json")),
      { count: 3 },
    );
    expect(answers.map(({ status }) => status)).to.deep.equal([404, 422, 200]);
  });

  it("malformed bytes after a valid request do not prevent its response", async () => {
    const { port } = await open();
    const request = `${head([authorization, json, `Content-Length: ${good.length}`])}${good}`;
    const { answers } = await exchange(port, (send) => send(`${request}garbage\r\n\r\n`));
    expect(answers.map(({ status }) => status)).to.deep.equal([202, 400]);
  });

  it("a client that disconnects in the middle of its body does no harm", async () => {
    const { port } = await open();
    await exchange(
      port,
      (send) => send(`${head([authorization, json, "Content-Length: 9999"])}{`),
      {
        timeoutMs: 50,
      },
    );
    await isStillServing();
  });

  it("requests above the load limit get 503 at once, with Retry-After", async () => {
    const waiting: (() => void)[] = [];
    await open({
      requestsMax: 2,
      ports: {
        keyLocks: {
          acquire: () =>
            new Promise((resolve) => {
              waiting.push(() => resolve({ state: "acquired", release: async () => undefined }));
            }),
        },
      },
    });
    const keyed = (key: string) => post(good, { "idempotency-key": key });
    const held = [keyed("a"), keyed("b")];
    while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const answer = await keyed("c");
    expect(answer.status).to.equal(503);
    expect(answer.headers.get("retry-after")).to.equal("1");
    for (const go of waiting) go();
    expect((await Promise.all(held)).map(({ status }) => status)).to.deep.equal([202, 202]);
    await isStillServing();
  });
});
