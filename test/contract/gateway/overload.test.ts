/** The 503 under overload: the prebuilt one and the one of the application. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import { API_KEY, exchange, openRestApp, type RestApp } from "../../support/rest-app.ts";

const SEND = "/v1/sms/messages";
const BODY = JSON.stringify({ to: "08031234567", from: "Acme", body: "Hello" });
const ORIGIN = "https://app.example.com";

describe("REST: overload", () => {
  let app: RestApp;
  let refused: string[];
  beforeEach(async () => {
    refused = [];
    app = await openRestApp({
      requestsMax: 0,
      corsOrigins: ["https://elsewhere.example.com"],
      onRefused: (method, path) => void refused.push(`${method} ${path}`),
    });
  });
  afterEach(() => app.close());

  function request(path: string, lines: readonly string[] = []): string {
    return [
      `POST ${path} HTTP/1.1`,
      "Host: x",
      `Authorization: Bearer ${API_KEY}`,
      "Content-Type: application/json",
      `Content-Length: ${BODY.length}`,
      ...lines,
      "",
      BODY,
    ].join("\r\n");
  }

  async function refusal(bytes: string) {
    const { answers } = await exchange(app.port, (send) => send(bytes), { count: 1 });
    const [answer] = answers;
    expect(answer?.status).to.equal(503);
    const id = /^x-request-id: (.*)$/im.exec(answer?.head ?? "")?.[1] ?? "";
    expect(id).to.match(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
    const headers = (answer?.head ?? "")
      .split("\r\n")
      .filter((line) => !/^date:/i.test(line))
      .map((line) => line.replace(id, "").toLowerCase());
    return { headers: headers.sort(), body: answer?.body.replace(id, "") };
  }

  it("the fast 503 equals the application's, except for the request id", async () => {
    const fast = await refusal(request(SEND));
    expect(refused).to.deep.equal([`POST ${SEND}`]);
    const byApplication = await refusal(request(SEND, [`Origin: ${ORIGIN}`]));
    expect(refused).to.have.length(1);
    expect(app.finished.map(({ code }) => code)).to.deep.equal(["service_unavailable"]);
    expect(fast).to.deep.equal(byApplication);
    expect(fast.headers).to.include("retry-after: 1");
  });

  it("a connection stays open after refusals, and their bodies are discarded", async () => {
    const three = request(SEND).repeat(3);
    const { answers } = await exchange(app.port, (send) => send(three), { count: 3 });
    expect(answers.map(({ status }) => status)).to.deep.equal([503, 503, 503]);
    expect(refused).to.have.length(3);
  });

  const GET = `GET /v1/balance HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${API_KEY}\r\n\r\n`;

  it("a request without a body gets the fast 503, and its connection stays open", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let at = 0; at < 3; at += 1) {
      const call = get({ agent, port: app.port, host: "127.0.0.1", path: "/v1/balance" });
      const [answer] = (await once(call, "response")) as [IncomingMessage];
      expect([answer.statusCode, call.reusedSocket]).to.deep.equal([503, at > 0]);
      await once(answer.resume(), "end");
      // The socket returns to its agent a moment later.
      await eventually(() => Object.keys(agent.freeSockets).length === 1);
    }
    agent.destroy();
    expect(refused).to.deep.equal(Array(3).fill("GET /v1/balance"));
  });

  it("pipelined requests are refused in order: the first by the fast 503, the others by the application", async () => {
    const { answers } = await exchange(app.port, (send) => send(GET.repeat(3)), { count: 3 });
    expect(answers.map(({ status }) => status)).to.deep.equal([503, 503, 503]);
    const ids = answers.map(({ body }) => JSON.parse(body).request_id);
    expect(refused).to.have.length(1);
    expect(ids.slice(1)).to.deep.equal(app.finished.map(({ requestId }) => requestId));
  });

  for (const line of ["Connection: close", "Expect: 100-continue"]) {
    it(`with ${line} the 503 arrives before the connection closes, and the body is drained`, async () => {
      const bytes = request(SEND, [line]);
      const [head = "", body = ""] = bytes.split("\r\n\r\n");
      const socket = connect({ port: app.port, host: "127.0.0.1", allowHalfOpen: true });
      let text = "";
      socket.setEncoding("latin1").on("data", (chunk: string) => {
        text += chunk;
      });
      socket.write(`${head}\r\n\r\n`);
      await once(socket, "data");
      // The second write fails if the connection is closed.
      for (const half of [body.slice(0, 9), body.slice(9)]) {
        socket.write(half);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      socket.end();
      await once(socket, "close");
      expect(text).to.match(
        /^HTTP\/1\.1 503 [\s\S]*\r\nConnection: close\r\n[\s\S]*"service_unavailable"/,
      );
      expect(text.match(/HTTP\/1\.1/g)).to.have.length(1);
      expect(refused).to.have.length(1);
    });
  }

  for (const [what, bytes] of [
    ["a deprecated path", () => request("/v1/messages")],
    ["a request of a browser", () => request(SEND, [`Origin: ${ORIGIN}`])],
    ["a path with a parameter", () => request("/v1/messages/msg_1/cancel")],
    ["an unknown path", () => request("/v1/nothing")],
  ] as const) {
    it(`${what} is refused by the application, with all headers of its response`, async () => {
      await refusal(bytes());
      expect(refused).to.deep.equal([]);
      expect(app.finished.map(({ status }) => status)).to.deep.equal([503]);
    });
  }
});
