/** Which connectors a process runs, and when a change of one reaches its runner. */
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import {
  type Connector,
  ConnectorSchema,
  ConnectorState,
} from "../../proto/gen/sms/v1/routing_pb.js";
import type { ConnectorRunner } from "../../services/carrier/connector-runner.ts";
import { startSupervisor } from "../../services/carrier/supervisor.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { eventually } from "../support/poll.ts";

describe("the connectors of a process", () => {
  const read = (fields: { version: bigint; createdAtMs: bigint; ratePerSecond: number }) =>
    create(ConnectorSchema, { id: "smsc", state: ConnectorState.ACTIVE, ...fields });

  const CHANGES = [
    ["of another version", { version: 2n, createdAtMs: 1n }, [5, 7]],
    ["removed and created again between two reads", { version: 1n, createdAtMs: 2n }, [5, 7]],
    ["read again as it was", { version: 1n, createdAtMs: 1n }, [5]],
  ] as const;
  for (const [what, revision, expected] of CHANGES) {
    it(`one that is ${what} has the rates ${expected.join(", ")}`, async () => {
      const rates: number[] = [];
      let reads = 0;
      let connector: Connector = read({ version: 1n, createdAtMs: 1n, ratePerSecond: 5 });
      const runner = {
        setPacer: (_, rate) => void rates.push(rate),
        setActive: () => undefined,
        setOwned: () => undefined,
        isLinked: () => false,
        close: async () => undefined,
      } as Partial<ConnectorRunner> as ConnectorRunner;
      const supervisor = startSupervisor({
        listConnectors: async () => {
          reads += 1;
          return [connector];
        },
        leases: {
          ...{ replicas: 1, isValid: true },
          sync: async () => new Map(),
          releaseAll: async () => undefined,
        },
        makeRunner: () => runner,
        makePacer: () => undefined,
        ...{ pollMs: 60_000, drainMs: 0, log: createLogger("test", "silent") },
      });
      await eventually(() => rates.length === 1);
      connector = read({ ...revision, ratePerSecond: 7 });
      supervisor.refresh();
      await eventually(() => reads === 2);
      await supervisor.close(0);
      expect(rates).to.deep.equal([...expected]);
    });
  }
});
