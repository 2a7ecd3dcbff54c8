/** The limits of a caller without a valid token, tried with raw HTTP/2 connections. */
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { ServerReflection } from "../../../proto/gen/grpc/reflection/v1/reflection_pb.js";
import { createRpcAuth } from "../../../services/shared/rpc/auth.ts";
import type { UnauthenticatedLimit } from "../../../services/shared/rpc/unauthenticated-connections.ts";
import { eventually } from "../../support/poll.ts";
import { EchoService } from "../../support/rpc-echo.ts";
import { createRpcLinks } from "../../support/rpc-links.ts";

const TOKEN = "a-token-of-the-gateway";
const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const SAY = "/test.EchoService/Say";
const { NGHTTP2_ENHANCE_YOUR_CALM } = constants;

describe("unauthenticated connections of a gRPC server", function () {
  this.timeout(30_000);
  const links = createRpcLinks();
  const sessions: ClientHttp2Session[] = [];
  let limits: UnauthenticatedLimit[] = [];
  let calls = 0;
  afterEach(async () => {
    for (const session of sessions.splice(0)) session.destroy();
    await links.close();
  });

  async function serve(unauthenticatedArrivalMs = 10_000) {
    limits = [];
    calls = 0;
    const served = await links.serve({
      routes: (router) =>
        router.service(EchoService, {
          say(request) {
            calls += 1;
            return request;
          },
        }),
      auth: createRpcAuth([{ name: "gateway", tokens: [TOKEN], methods: ["*"] }]),
      onUnauthenticatedLimit: (limit) => void limits.push(limit),
      unauthenticatedArrivalMs,
    });
    const own = createClient(EchoService, links.connect({ target: served.target, token: TOKEN }));
    return { ...served, own };
  }

  async function join(port: number): Promise<ClientHttp2Session> {
    const session = connect(`http://127.0.0.1:${port}`);
    sessions.push(session);
    session.on("error", () => {});
    await once(session, "connect");
    return session;
  }

  function begin(session: ClientHttp2Session, path: string): ClientHttp2Stream {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("error", () => {});
    return stream;
  }

  /** The first bytes of a message of 16 MiB. */
  function largeMessage(): Buffer {
    const frame = Buffer.alloc(5 + 64 * 1024);
    frame.writeUInt32BE(16 * 1024 * 1024 - 1, 1);
    return frame;
  }

  it("a message above 4 KiB ends the stream before it is buffered", async () => {
    const { port, own } = await serve();
    const session = await join(port);
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const stream = begin(session, REFLECTION);
        const answer = once(stream, "response");
        stream.write(largeMessage());
        const [headers] = await answer;
        stream.close();
        return headers["grpc-status"];
      }),
    );
    expect(new Set(statuses)).to.deep.equal(new Set(["8"]));
    expect((await own.say({ value: "on" })).value).to.equal("on");
  });

  it("a call without a valid token is refused by its headers, before any byte of a body", async () => {
    const { port } = await serve();
    const stream = begin(await join(port), SAY);
    const [headers] = await once(stream, "response");
    expect(headers["grpc-status"]).to.equal("16");
    expect(calls).to.equal(0);
  });

  it("a request that does not arrive in time is ended", async () => {
    const { port } = await serve(100);
    const stream = begin(await join(port), REFLECTION);
    stream.write(Buffer.alloc(3));
    await eventually(() => stream.closed);
    expect(stream.rstCode).to.equal(NGHTTP2_ENHANCE_YOUR_CALM);
    expect(limits).to.deep.equal(["arrival"]);
  });

  it("a connection has 32 open streams; 10,000 end it, and callers go on", async () => {
    const { port, own } = await serve();
    const session = await join(port);
    const closed = once(session, "close");
    const open = Array.from({ length: 10_000 }, () => begin(session, REFLECTION));
    expect((await own.say({ value: "meanwhile" })).value).to.equal("meanwhile");
    await closed;
    expect(open.every((stream) => stream.closed || stream.destroyed)).to.equal(true);
    expect(limits).to.include("streams");
    expect(limits.at(-1)).to.equal("calls");
  });

  it("256 streams of all connections stay open; the oldest are closed first", async () => {
    const { port } = await serve();
    const streams: ClientHttp2Stream[] = [];
    for (let count = 0; count < 10; count += 1) {
      const session = await join(port);
      for (let at = 0; at < 30; at += 1) streams.push(begin(session, REFLECTION));
    }
    await eventually(() => streams.filter(({ closed }) => closed).length === 300 - 256);
    expect(streams.findIndex(({ closed }) => !closed)).to.equal(300 - 256);
  });

  it("resets end the connection after a hundred or so", async () => {
    const { port, own } = await serve();
    const session = await join(port);
    let resets = 0;
    while (!session.destroyed && resets < 45_000) {
      for (let at = 0; at < 50 && !session.destroyed && !session.closed; at += 1) {
        begin(session, REFLECTION).close(constants.NGHTTP2_CANCEL);
        resets += 1;
      }
      await own.say({});
    }
    expect(session.destroyed).to.equal(true);
    expect(limits).to.include("calls");
    expect(resets).to.be.lessThan(2000);
  });

  it("messages on one stream end the connection after a thousand or so", async () => {
    const { port, own } = await serve();
    const session = await join(port);
    const stream = begin(session, REFLECTION);
    let answers = 0;
    let unread = Buffer.alloc(0);
    stream.on("data", (bytes: Buffer) => {
      unread = Buffer.concat([unread, bytes]);
      for (; unread.length >= 5; answers += 1) {
        const end = 5 + unread.readUInt32BE(1);
        if (unread.length < end) return;
        unread = unread.subarray(end);
      }
    });
    // A question for the list of services, a hundred times.
    const questions = Buffer.concat(
      Array.from({ length: 100 }, () => Buffer.from([0, 0, 0, 0, 2, 0x3a, 0])),
    );
    let sent = 0;
    while (!stream.destroyed && sent < 100_000) {
      sent += 100;
      if (!stream.write(questions)) {
        await Promise.race([once(stream, "drain"), once(stream, "close")]);
      }
      await own.say({});
    }
    await eventually(() => session.destroyed);
    expect(limits).to.include("calls");
    expect(answers).to.be.within(500, 2000);
    expect((await own.say({ value: "on" })).value).to.equal("on");
  });

  it("1,000 idle connections leave room for a caller and for a probe", async () => {
    const { port, own } = await serve();
    const sockets: Socket[] = [];
    for (let at = 0; at < 1000; at += 1) {
      const socket = connectTcp(port, "127.0.0.1");
      socket.on("error", () => {}).resume();
      sockets.push(socket);
      await once(socket, "connect");
    }
    await eventually(() => sockets.filter(({ destroyed }) => destroyed).length >= 1000 - 512);
    expect((await own.say({ value: "on" })).value).to.equal("on");
    for (const socket of sockets) socket.destroy();
  });

  it("a connection that sends nothing does not keep the server from closing", async () => {
    const { port, server } = await serve();
    const socket = connectTcp(port, "127.0.0.1");
    await once(socket, "connect");
    expect(await server.drain(5000)).to.deep.equal({ forced: false });
    socket.destroy();
  });

  it("none of these limits applies once a call on the connection was authenticated", async () => {
    const { target } = await serve(1000);
    const transport = links.connect({ target, token: TOKEN });
    await createClient(EchoService, transport).say({});
    const reflection = createClient(ServerReflection, transport);
    const done = Promise.withResolvers<void>();
    const value = "x".repeat(100_000);
    const answers = reflection.serverReflectionInfo(
      (async function* () {
        yield { messageRequest: { case: "fileByFilename", value } } as const;
        await done.promise;
        yield { messageRequest: { case: "listServices", value: "" } } as const;
      })(),
    );
    const cases: (string | undefined)[] = [];
    for await (const { messageResponse } of answers) {
      cases.push(messageResponse.case);
      // Longer than an unauthenticated request may take.
      if (cases.length === 1) setTimeout(done.resolve, 1500);
    }
    expect(cases).to.deep.equal(["errorResponse", "listServicesResponse"]);
    expect(limits).to.deep.equal([]);
  });
});
