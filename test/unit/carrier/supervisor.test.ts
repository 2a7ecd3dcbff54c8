/** The connectors of a process, and the changes that reach their runners. */
import { expect } from "chai";
import type { ConnectorRunner } from "../../../services/carrier/app/connector.ts";
import type { ConnectorConfig } from "../../../services/carrier/app/ports.ts";
import { createSupervisor } from "../../../services/carrier/app/supervisor.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { connectorConfig, fakeRunner } from "../../support/carrier-connectors.ts";
import { eventually } from "../../support/poll.ts";

describe("the connectors of a process", () => {
  const CHANGES = [
    ["with another version", { version: 2n, createdAtMs: 1n }, [5, 7]],
    ["that was removed and created again between two reads", { createdAtMs: 2n }, [5, 7]],
    ["that did not change", { version: 1n, createdAtMs: 1n }, [5]],
  ] as const;
  for (const [description, revision, expected] of CHANGES) {
    it(`a connector ${description} gets the rates ${expected.join(", ")}`, async () => {
      const rates: number[] = [];
      const { supervisor, listed } = supervise([connectorConfig({ ratePerSecond: 5 })], () => ({
        setRateLimiter: (_, rate) => void rates.push(rate),
      }));
      await eventually(() => rates.length === 1);
      listed.connectors = [connectorConfig({ ...revision, ratePerSecond: 7 })];
      supervisor.refresh();
      await eventually(() => listed.reads === 2);
      await supervisor.close(0);
      expect(rates).to.deep.equal([...expected]);
    });
  }

  it("a connector with unreadable secrets keeps its link and takes state and rate", async () => {
    const events: string[] = [];
    const { supervisor, listed } = supervise(
      [connectorConfig({ ratePerSecond: 5 })],
      ({ id, linkFingerprint }) => {
        events.push(`${id} over ${linkFingerprint} starts`);
        return {
          setRateLimiter: (_, rate) => void events.push(`rate ${rate}`),
          setActive: (isActive) => void events.push(isActive ? "active" : "paused"),
          close: async () => void events.push("closed"),
        };
      },
    );
    await eventually(() => events.length === 3);
    const other = connectorConfig({ id: "other", secretsUnreadable: true });
    const paused = { version: 2n, ratePerSecond: 7, isActive: false };
    for (let reads = 2; reads < 4; reads += 1) {
      listed.connectors = [connectorConfig({ ...paused, secretsUnreadable: true }), other];
      supervisor.refresh();
      await eventually(() => listed.reads === reads);
    }
    expect(events.slice(3)).to.deep.equal(["rate 7", "paused"]);
    // The connector may exist, so its receipts must not be refused permanently.
    expect(supervisor.find("other")).to.equal(undefined);
    expect(supervisor.settingsOf("other")).to.equal("not_read");
    listed.connectors = [connectorConfig({ ...paused, linkFingerprint: "http" })];
    supervisor.refresh();
    await eventually(() => events.includes("smsc over http starts"));
    expect(supervisor.settingsOf("other")).to.equal(undefined);
    await supervisor.close(0);
  });

  it("a connector that drains blocks no other, and starts again when it has closed", async () => {
    const events: string[] = [];
    const ended = Promise.withResolvers<void>();
    const { supervisor, listed } = supervise(
      [connectorConfig(), connectorConfig({ id: "other" })],
      ({ id, linkFingerprint }) => {
        events.push(`${id} over ${linkFingerprint} starts`);
        return {
          setActive: (isActive) => void events.push(`${id} ${isActive ? "active" : "paused"}`),
          close: () => ended.promise,
        };
      },
    );
    await eventually(() => events.length === 4);
    listed.connectors = [
      connectorConfig({ version: 2n, linkFingerprint: "http" }),
      connectorConfig({ id: "other", version: 2n, isActive: false }),
    ];
    supervisor.refresh();
    await eventually(() => events.includes("other paused"));
    expect(supervisor.find("smsc")).to.equal(undefined);
    expect(supervisor.settingsOf("smsc")).to.have.property("version", 1n);
    ended.resolve();
    await eventually(() => supervisor.find("smsc") !== undefined);
    expect(events.slice(-2)).to.deep.equal(["smsc over http starts", "smsc active"]);
    await supervisor.close(0);
  });
});

/** Starts a supervisor over connectors that the test may change. */
function supervise(
  connectors: readonly ConnectorConfig[],
  createRunner: (connector: ConnectorConfig) => Partial<ConnectorRunner>,
) {
  const listed = { connectors, reads: 0 };
  const supervisor = createSupervisor({
    listConnectors: async () => {
      listed.reads += 1;
      return listed.connectors;
    },
    leases: {
      ...{ replicas: 1, isValid: true },
      sync: async () => new Map(),
      releaseAll: async () => undefined,
    },
    createRunner: (connector) => fakeRunner(createRunner(connector)),
    createRateLimiter: () => undefined,
    ...{ pollMs: 60_000, drainMs: 0, log: createLogger("test", "silent") },
  });
  supervisor.start();
  return { supervisor, listed };
}
