/** The result of each kind of response, octet by octet, and the fate of its connection. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import {
  type RawBehaviour,
  type RawReceiver,
  say,
  startRawReceiver,
} from "../../support/raw-receiver.ts";
import { testCertificates } from "../../support/webhook-harness.ts";
import { openTestClient } from "../../support/webhook-http-client.ts";

const TIMEOUT_MS = 400;
/** A busy machine may read the clock this much later. */
const LATE_MS = 5000;

describe("responses to webhook requests", () => {
  const certificates = testCertificates();
  let receiver: RawReceiver;
  let client: ReturnType<typeof openTestClient>;

  beforeEach(async () => {
    receiver = await startRawReceiver(certificates);
    client = openTestClient(certificates.caFile);
  });
  afterEach(async () => {
    client.close();
    await receiver.close();
  });

  const octetByOctet =
    (lines: string): RawBehaviour =>
    async ({ socket }) => {
      for (const octet of Buffer.from(lines.replaceAll("\n", "\r\n"))) {
        await new Promise((resolve) => socket.write(Buffer.of(octet), resolve));
      }
    };
  const thenEnd =
    (lines: string): RawBehaviour =>
    ({ socket }) =>
      void socket.end(lines.replaceAll("\n", "\r\n"));

  const OK = "HTTP/1.1 200 OK\n";
  const CHUNKED = `${OK}Transfer-Encoding: chunked\n\n3;a=b\nhel\n2\nlo\n0\nX: y\n\n`;
  const big = "x".repeat(300_000);

  const CASES: readonly {
    readonly name: string;
    readonly behaviour: RawBehaviour;
    readonly is: readonly [error: string, status: number, answer: string];
    /** Whether the next request uses the same connection. */
    readonly isKept: boolean;
  }[] = [
    { name: "204", behaviour: say("HTTP/1.1 204 X\n\n"), is: ["", 204, ""], isKept: true },
    {
      name: "a length",
      behaviour: say(`${OK}Content-Length: 5\n\nhello`),
      is: ["", 200, "hello"],
      isKept: true,
    },
    { name: "chunks", behaviour: say(CHUNKED), is: ["", 200, "hello"], isKept: true },
    {
      name: "chunks, octet by octet",
      behaviour: octetByOctet(CHUNKED),
      is: ["", 200, "hello"],
      isKept: true,
    },
    {
      name: "100 Continue first",
      behaviour: say(`HTTP/1.1 100 Continue\n\n${OK}Content-Length: 2\n\nok`),
      is: ["", 200, "ok"],
      isKept: true,
    },
    {
      name: "an interim head of 40 KiB, then success",
      behaviour: say(
        `HTTP/1.1 103 Early Hints\n${`X: ${"x".repeat(1019)}\n`.repeat(40)}\n${OK}Content-Length: 2\n\nok`,
      ),
      is: ["", 200, "ok"],
      isKept: true,
    },
    {
      name: "an interim head that breaks a rule, then an error",
      behaviour: say("HTTP/1.1 103 Early Hints\nno field\n\nHTTP/1.1 500 X\nContent-Length: 0\n\n"),
      is: ["status", 500, ""],
      isKept: true,
    },
    {
      name: "endless interim heads",
      behaviour: say(`HTTP/1.1 103 Early Hints\n${`X: ${"x".repeat(1019)}\n`.repeat(1100)}`),
      is: ["connection", 0, ""],
      isKept: false,
    },
    {
      name: "101",
      behaviour: say("HTTP/1.1 101 X\nUpgrade: x\nConnection: upgrade\n\n"),
      is: ["status", 101, ""],
      isKept: false,
    },
    {
      name: "an error with a body",
      behaviour: say("HTTP/1.1 500 X\nContent-Length: 2\n\nno"),
      is: ["status", 500, "no"],
      isKept: true,
    },
    {
      name: "Connection: close",
      behaviour: say(`${OK}Connection: close\nContent-Length: 2\n\nok`),
      is: ["", 200, "ok"],
      isKept: false,
    },
    {
      name: "HTTP/1.0, which ends with the connection",
      behaviour: thenEnd("HTTP/1.0 200 OK\n\nhello"),
      is: ["", 200, "hello"],
      isKept: false,
    },
    {
      name: "octets after the response",
      behaviour: say(`${OK}Content-Length: 2\n\nok${OK}Content-Length: 2\n\nno`),
      is: ["", 200, "ok"],
      isKept: false,
    },
    {
      name: "a body beyond the limit",
      behaviour: say(`${OK}Content-Length: 300000\n\n${big}`),
      is: ["", 200, "x".repeat(1024)],
      isKept: false,
    },
    {
      name: "an end in the middle of a 2xx head",
      behaviour: thenEnd("HTTP/1.1 200 OK\nContent-"),
      is: ["", 200, ""],
      isKept: false,
    },
    {
      name: "an end in the middle of a 2xx status line",
      behaviour: thenEnd("HTTP/1.1 200 O"),
      is: ["connection", 0, ""],
      isKept: false,
    },
    {
      name: "an end in the middle of an error's head",
      behaviour: thenEnd("HTTP/1.1 500 X\nContent-"),
      is: ["connection", 0, ""],
      isKept: false,
    },
    {
      name: "an end in the middle of the body",
      behaviour: thenEnd(`${OK}Content-Length: 5\n\nhell`),
      is: ["", 200, "hell"],
      isKept: false,
    },
    {
      name: "an end in the middle of an error's body",
      behaviour: thenEnd("HTTP/1.1 500 X\nContent-Length: 5\n\nhell"),
      is: ["connection", 500, ""],
      isKept: false,
    },
    {
      name: "an invalid chunk",
      behaviour: say(`${OK}Transfer-Encoding: chunked\n\nhello\n`),
      is: ["", 200, ""],
      isKept: false,
    },
    {
      name: "an error with an invalid chunk",
      behaviour: say("HTTP/1.1 500 X\nTransfer-Encoding: chunked\n\nhello\n"),
      is: ["connection", 500, ""],
      isKept: false,
    },
    {
      name: "a 2xx head of a MiB",
      behaviour: say(`${OK}${`X: ${"x".repeat(1019)}\n`.repeat(1024)}\nhello`),
      is: ["", 200, ""],
      isKept: false,
    },
    {
      name: "an error head of 200 KiB",
      behaviour: say(`HTTP/1.1 500 X\n${`X: ${"x".repeat(1019)}\n`.repeat(200)}\n`),
      is: ["connection", 0, ""],
      isKept: false,
    },
    {
      name: "a 2xx head whose lines end with LF alone",
      behaviour: ({ socket }) => void socket.write("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
      is: ["", 200, "ok"],
      isKept: false,
    },
    {
      name: "a 2xx with two lengths",
      behaviour: say(`${OK}Content-Length: 2\nContent-Length: 3\n\nok`),
      is: ["", 200, ""],
      isKept: false,
    },
    {
      name: "an error with two lengths",
      behaviour: say("HTTP/1.1 500 X\nContent-Length: 2\nContent-Length: 3\n\nok"),
      is: ["connection", 0, ""],
      isKept: false,
    },
  ];

  for (const { name, behaviour, is, isKept } of CASES) {
    it(`${name}: ${is[0] || "success"}, and the connection is ${isKept ? "kept" : "closed"}`, async () => {
      receiver.behave(behaviour);
      const result = await client.to(receiver.port);
      expect([result?.error, result?.httpStatus, result?.answer]).to.deep.equal(is);
      if (!isKept) await eventually(() => receiver.sockets[0]?.destroyed);
      receiver.behave(say("HTTP/1.1 204 X\n\n"));
      expect((await client.to(receiver.port))?.error).to.equal("");
      expect(receiver.sockets.length).to.equal(isKept ? 1 : 2);
      expect(receiver.requests.length).to.equal(2);
      const counted = is[1] === 0 ? [] : ["new"];
      expect(client.used).to.deep.equal([...counted, isKept ? "reused" : "new"]);
    });
  }

  it("a request is one write with the bytes of the contract", async () => {
    await client.to(receiver.port);
    const [request] = receiver.requests;
    expect(request?.pieces).to.equal(1);
    expect(Buffer.from(request?.text ?? "", "latin1").toString("utf8")).to.equal(
      `POST /hook?a=b HTTP/1.1\r\nHost: localhost:${receiver.port}\r\nX-Id: 1\r\n` +
        'Content-Length: 16\r\nConnection: keep-alive\r\n\r\n{"text":"é☂"}',
    );
  });

  const dripAfter =
    (head: string): RawBehaviour =>
    ({ socket }) => {
      socket.write(head.replaceAll("\n", "\r\n"));
      const timer = setInterval(() => socket.write("."), 20);
      socket.once("close", () => clearInterval(timer));
    };
  const UNENDED = [
    ["a length that is never reached", "Content-Length: 10000\n\n"],
    ["a body without a length", "\n"],
    ["chunks that are never closed", "Transfer-Encoding: chunked\n\n2000\n"],
  ] as const;

  for (const [name, rest] of UNENDED) {
    it(`${name}: a 2xx is a success in time, and the connection is closed`, async () => {
      receiver.behave(dripAfter(`${OK}${rest}`));
      const result = await client.to(receiver.port, { timeoutMs: TIMEOUT_MS });
      expect(result).to.include({ error: "", httpStatus: 200 });
      expect(result?.answer).to.match(/^\.+$/);
      expect(result?.durationMs).to.be.within(TIMEOUT_MS - 5, TIMEOUT_MS + LATE_MS);
      await eventually(() => receiver.sockets[0]?.destroyed);
    });

    it(`${name}: an error ends at the timeout, with its status`, async () => {
      receiver.behave(dripAfter(`HTTP/1.1 500 X\n${rest}`));
      const result = await client.to(receiver.port, { timeoutMs: TIMEOUT_MS });
      expect(result).to.include({ error: "timeout", httpStatus: 500, answer: "" });
      await eventually(() => receiver.sockets[0]?.destroyed);
    });
  }

  for (const [name, lines, answer] of [
    ["the body of a 2xx", `${OK}Content-Length: 5\n\nhell`, "hell"],
    ["the head after a 2xx status line", `${OK}Content-Length: 5\n`, ""],
  ] as const) {
    it(`${name} is read for a second at most`, async () => {
      receiver.behave(say(lines));
      const result = await client.to(receiver.port, { timeoutMs: 20_000 });
      expect(result).to.include({ error: "", httpStatus: 200, answer });
      expect(result?.durationMs).to.be.within(995, 1000 + LATE_MS);
      await eventually(() => receiver.sockets[0]?.destroyed);
    });
  }

  it("a head of 200,000 fields costs no memory to speak of", async () => {
    const endless = `a:\r\n`.repeat(200_000);
    for (const [status, error] of [
      ["200", ""],
      ["500", "connection"],
    ] as const) {
      receiver.behave(({ socket }) => void socket.write(`HTTP/1.1 ${status} X\r\n${endless}`));
      const before = process.memoryUsage().rss;
      const sent = Array.from({ length: 32 }, () => client.to(receiver.port));
      for (const result of await Promise.all(sent)) expect(result?.error).to.equal(error);
      expect(process.memoryUsage().rss - before).to.be.below(150 * 1_048_576);
    }
  });

  it("a response before the request has left completely counts, and its connection is closed", async () => {
    receiver.onConnection((socket) => {
      socket.pause();
      socket.write("HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n");
    });
    const wanted = { body: "x".repeat(20_000_000) };
    for (const connections of [1, 2]) {
      const result = await client.to(receiver.port, wanted);
      expect(result).to.include({ error: "status", httpStatus: 413 });
      expect(receiver.sockets.length).to.equal(connections);
    }
  });

  it("a header with a line end is refused before anything is sent", async () => {
    const wanted = { headers: { "X-Id": "1\r\nX-Other: 2" } };
    const error = await client.to(receiver.port, wanted).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(TypeError);
    expect(receiver.sockets).to.deep.equal([]);
  });
});
