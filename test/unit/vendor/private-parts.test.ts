/** Fails when an upgrade changes a private part that `services/shared/vendor` relies on. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Server } from "@grpc/grpc-js";
import { Http2SubchannelConnector } from "@grpc/grpc-js/build/src/transport.js";
import { expect } from "chai";
import { Connection } from "mongodb/lib/cmap/connection.js";
import { toJsMsg } from "nats/lib/jetstream/jsmsg.js";
import { NatsConnectionImpl, setTransportFactory } from "nats/lib/nats-base-client/internal_mod.js";
import { NodeTransport, nodeResolveHost } from "nats/lib/src/node_transport.js";
import { allowStreamResets } from "../../../services/shared/vendor/grpc-http2-options.ts";
import { listenersOf } from "../../../services/shared/vendor/grpc-server-sessions.ts";
import { ClosingConnection } from "../../../services/shared/vendor/mongodb-closing-connection.ts";
import {
  pauseRequests,
  requestOn,
  responseOn,
  resumeRequests,
} from "../../../services/shared/vendor/node-http-socket.ts";
import { collectGarbage } from "../../../services/shared/vendor/v8-collect-garbage.ts";
import { eventually } from "../../support/poll.ts";

describe("private parts of libraries", () => {
  for (const [name, part] of [
    ["grpc-js: the connector's connect", [Http2SubchannelConnector.prototype, "connect"]],
    ["grpc-js: the connector's tcpConnect", [Http2SubchannelConnector.prototype, "tcpConnect"]],
    ["mongodb: the connection's cleanup", [Connection.prototype, "cleanup"]],
    ["nats: the transport's dial", [NodeTransport.prototype, "dial"]],
    ["nats: the transport's setupHandlers", [NodeTransport.prototype, "setupHandlers"]],
    ["nats: the transport's close", [NodeTransport.prototype, "close"]],
    ["nats: the transport's disconnect", [NodeTransport.prototype, "disconnect"]],
    ["nats: connect", [NatsConnectionImpl, "connect"]],
    ["nats: setTransportFactory", [{ setTransportFactory }, "setTransportFactory"]],
    ["nats: nodeResolveHost", [{ nodeResolveHost }, "nodeResolveHost"]],
    ["nats: toJsMsg", [{ toJsMsg }, "toJsMsg"]],
  ] as const) {
    it(`still exist: ${name}`, () => {
      const [owner, key] = part;
      expect((owner as unknown as Record<string, unknown>)[key]).to.be.a("function");
    });
  }

  it("grpc-js keeps its HTTP/2 servers in a map", () => {
    expect([...listenersOf(new Server())]).to.deep.equal([]);
  });

  it("grpc-js keeps its HTTP/2 options where the limit of resets can be set", () => {
    const server = new Server();
    allowStreamResets(server);
    expect(Reflect.get(server, "commonServerOptions")).to.include({ streamResetBurst: 20_000 });
  });

  it("mongodb's connection can be extended", () => {
    expect(ClosingConnection.prototype).to.be.instanceOf(Connection);
  });

  it("V8 collects garbage at run time and leaves no gc behind", () => {
    collectGarbage();
    expect("gc" in globalThis).to.equal(process.execArgv.includes("--expose-gc"));
  });

  it("Node keeps the response and request in progress on a socket, and its pause lasts", async () => {
    const responses: ServerResponse[] = [];
    const server = createServer((_request, response) => void responses.push(response));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const ask = () => client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ask();
    await eventually(() => responses.length === 1);
    const [first] = responses as [ServerResponse];
    const socket = first.socket as Socket;
    expect(responseOn(socket)).to.equal(first);
    expect(requestOn(socket)).to.equal(first.req);
    pauseRequests(socket);
    first.end();
    await once(client, "data");
    expect(responseOn(socket)).to.equal(undefined);
    ask();
    // A later request on another connection arrives while the paused one waits.
    const other = connect((server.address() as AddressInfo).port, "127.0.0.1");
    other.write("GET / HTTP/1.1\r\nHost: b\r\n\r\n");
    await eventually(() => responses.length === 2);
    expect(responses[1]?.req.headers.host, "while paused").to.equal("b");
    other.destroy();
    resumeRequests(socket);
    await eventually(() => responses.length === 3);
    client.destroy();
    server.close();
    server.closeAllConnections();
  });
});
