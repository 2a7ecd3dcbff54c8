import { once } from "node:events";
import { connect, createServer } from "node:net";
import { expect } from "chai";
import {
  grpcPort,
  opsPort,
  PORTS_OF_A_STACK,
  portBaseIn,
  portOf,
  requireFreePorts,
} from "../../../deploy/dev/port-layout.ts";
import { freePorts } from "../../../deploy/dev/ports.ts";
import { SERVICE_PROCESSES } from "../../../deploy/dev/process-table.ts";
import { StackError } from "../../../deploy/dev/stack-error.ts";

const PARTS = [
  ...(["gateway", "mongod", "nats-server", "redis"] as const),
  ...(["smsc", "smsc-control", "receiver", "receiver-events", "operator-console"] as const),
];

/** Where a second gateway of the stack listens. */
const SECOND_GATEWAY_OFFSET = 1;

describe("the ports of a stack", () => {
  it("are all different and within the range that PORT_BASE begins", () => {
    const base = 18_080;
    // Two replicas of each service; the simulator has a place after the services.
    const places = Array.from({ length: 2 * SERVICE_PROCESSES.length + 1 }, (_, place) => place);
    const ports = [
      base + SECOND_GATEWAY_OFFSET,
      ...PARTS.map((part) => portOf(base, part)),
      ...places.map((place) => opsPort(base, place)),
      ...places.map((place) => grpcPort(base, place)),
    ];
    expect(new Set(ports).size).to.equal(ports.length);
    for (const port of ports) expect(port).to.be.within(base, base + PORTS_OF_A_STACK - 1);
  });

  it("put the default stack's receiver on 8443, where webhooks may go", () => {
    expect(portOf(8080, "receiver")).to.equal(8443);
  });

  it("refuse a PORT_BASE that is no port, in one line", () => {
    expect(portBaseIn({})).to.equal(undefined);
    expect(portBaseIn({ PORT_BASE: "18080" })).to.equal(18_080);
    for (const wrong of ["80", "65530", "abc", "8080.5"]) {
      expect(() => portBaseIn({ PORT_BASE: wrong })).to.throw(StackError, "PORT_BASE");
    }
  });

  it("that are taken are named with their users and the fix", async () => {
    const [taken = 0, free = 0] = await freePorts(2);
    const server = createServer().listen(taken, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    try {
      await requireFreePorts(new Map([[free, "wallet"]]));
      const wanted = new Map([
        [taken, "gateway"],
        [free, "wallet"],
      ]);
      const error = await requireFreePorts(wanted).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(StackError);
      expect(String(error))
        .to.include(`${taken} (for gateway, held by node`)
        .and.include("PORT_BASE=");
      expect(String(error)).not.to.include(String(free));
    } finally {
      server.close();
    }
  });

  it("that are the near end of a connection are said to be so", async () => {
    const [listening = 0] = await freePorts(1);
    const server = createServer().listen(listening, "127.0.0.1");
    await once(server, "listening");
    // The system chooses the near port, and binds it for this connection alone.
    const socket = connect(listening, "127.0.0.1");
    try {
      await once(socket, "connect");
      const near = socket.localPort ?? 0;
      const error = await requireFreePorts(new Map([[near, "wallet"]])).catch(
        (reason: unknown) => reason,
      );
      expect(String(error)).to.include(`${near} (for wallet, held by a connection of node (pid`);
    } finally {
      socket.destroy();
      server.close();
    }
  });
});
