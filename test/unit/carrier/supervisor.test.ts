/** Which connectors a process runs, and when a change of one reaches its runner. */
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import {
  type Connector,
  ConnectorSchema,
  ConnectorState,
  ConnectorType,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import type { ConnectorRunner } from "../../../services/carrier/app/connector.ts";
import { startSupervisor } from "../../../services/carrier/app/supervisor.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { eventually } from "../../support/poll.ts";

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

  it("one whose secrets cannot be opened keeps its link and takes state and rate; it is read again later", async () => {
    const events: string[] = [];
    const unread = (fields: { version: bigint; ratePerSecond: number; state?: ConnectorState }) =>
      create(ConnectorSchema, { ...smsc(fields), secretsUnreadable: true });
    const first = smsc({ version: 1n, ratePerSecond: 5 });
    first.type = ConnectorType.SMPP;
    const { supervisor, listed } = supervise([first], ({ id, type }) => {
      events.push(`${id} of type ${type} begins`);
      return {
        setPacer: (_, rate) => void events.push(`rate ${rate}`),
        setActive: (isActive) => void events.push(isActive ? "sends" : "rests"),
        close: async () => void events.push("ends"),
      };
    });
    await eventually(() => events.length === 3);
    const other = create(ConnectorSchema, { id: "other", version: 1n, secretsUnreadable: true });
    const paused = { version: 2n, ratePerSecond: 7, state: ConnectorState.PAUSED };
    for (let reads = 2; reads < 4; reads += 1) {
      listed.connectors = [unread(paused), other];
      supervisor.refresh();
      await eventually(() => listed.reads === reads);
    }
    expect(events.slice(3)).to.deep.equal(["rate 7", "rests"]);
    // A receipt of one that may exist is not refused for good.
    expect(supervisor.find("other")).to.equal(undefined);
    expect(supervisor.settingsOf("other")).to.equal("not_read");
    const changed = smsc(paused);
    changed.type = ConnectorType.HTTP;
    listed.connectors = [changed];
    supervisor.refresh();
    await eventually(() => events.includes("smsc of type 2 begins"));
    expect(supervisor.settingsOf("other")).to.equal(undefined);
    await supervisor.close(0);
  });

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
