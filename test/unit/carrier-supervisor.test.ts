/** Which connectors a process runs, and when a change of one reaches its runner. */
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import {
  type Connector,
  ConnectorSchema,
  ConnectorState,
  ConnectorType,
} from "../../proto/gen/sms/v1/routing_pb.js";
import type { ConnectorRunner } from "../../services/carrier/connector-runner.ts";
import { startSupervisor } from "../../services/carrier/supervisor.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { eventually } from "../support/poll.ts";

describe("the connectors of a process", () => {
  const smsc = (fields: { version: bigint; createdAtMs?: bigint; ratePerSecond: number }) =>
    create(ConnectorSchema, {
      id: "smsc",
      createdAtMs: 1n,
      state: ConnectorState.ACTIVE,
      ...fields,
    });

  const CHANGES = [
    ["of another version", { version: 2n, createdAtMs: 1n }, [5, 7]],
    ["removed and created again between two reads", { version: 1n, createdAtMs: 2n }, [5, 7]],
    ["read again as it was", { version: 1n, createdAtMs: 1n }, [5]],
  ] as const;
  for (const [what, revision, expected] of CHANGES) {
    it(`one that is ${what} has the rates ${expected.join(", ")}`, async () => {
      const rates: number[] = [];
      const { supervisor, listed } = supervise([smsc({ version: 1n, ratePerSecond: 5 })], () => ({
        setPacer: (_, rate) => void rates.push(rate),
      }));
      await eventually(() => rates.length === 1);
      listed.connectors = [smsc({ ...revision, ratePerSecond: 7 })];
      supervisor.refresh();
      await eventually(() => listed.reads === 2);
      await supervisor.close(0);
      expect(rates).to.deep.equal([...expected]);
    });
  }

  it("one that drains lets no other wait, and begins anew when it has ended", async () => {
    const events: string[] = [];
    const ended = Promise.withResolvers<void>();
    const other = (state: ConnectorState, version: bigint) =>
      create(ConnectorSchema, { id: "other", state, version });
    const { supervisor, listed } = supervise(
      [smsc({ version: 1n, ratePerSecond: 0 }), other(ConnectorState.ACTIVE, 1n)],
      ({ id, type }) => {
        events.push(`${id} of type ${type} begins`);
        return {
          setActive: (isActive) => void events.push(`${id} ${isActive ? "sends" : "rests"}`),
          close: () => ended.promise,
        };
      },
    );
    await eventually(() => events.length === 4);
    const exchanged = smsc({ version: 2n, ratePerSecond: 0 });
    exchanged.type = ConnectorType.HTTP;
    listed.connectors = [exchanged, other(ConnectorState.PAUSED, 2n)];
    supervisor.refresh();
    await eventually(() => events.includes("other rests"));
    expect(supervisor.find("smsc")).to.equal(undefined);
    expect(supervisor.settingsOf("smsc")).to.have.property("version", 1n);
    ended.resolve();
    await eventually(() => supervisor.find("smsc") !== undefined);
    expect(events.slice(-2)).to.deep.equal(["smsc of type 2 begins", "smsc sends"]);
    await supervisor.close(0);
  });
});

/** A supervisor over connectors that may change, with runners of which a test needs a part. */
function supervise(
  connectors: Connector[],
  makeRunner: (connector: Connector) => Partial<ConnectorRunner>,
) {
  const listed = { connectors, reads: 0 };
  const supervisor = startSupervisor({
    listConnectors: async () => {
      listed.reads += 1;
      return listed.connectors;
    },
    leases: {
      ...{ replicas: 1, isValid: true },
      sync: async () => new Map(),
      releaseAll: async () => undefined,
    },
    makeRunner: (connector) =>
      ({
        setPacer: () => undefined,
        setActive: () => undefined,
        setOwned: () => undefined,
        isLinked: () => false,
        close: async () => undefined,
        ...makeRunner(connector),
      }) as Partial<ConnectorRunner> as ConnectorRunner,
    makePacer: () => undefined,
    ...{ pollMs: 60_000, drainMs: 0, log: createLogger("test", "silent") },
  });
  return { supervisor, listed };
}
