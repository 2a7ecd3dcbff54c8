import type { ConnectorRunner } from "../../services/carrier/app/connector.ts";
import type { ConnectorConfig } from "../../services/carrier/app/ports.ts";

/** An active connector with one bind and no link, for tests that bring their own runner. */
export function connectorConfig(fields: Partial<ConnectorConfig> = {}): ConnectorConfig {
  return {
    ...{ id: "smsc", version: 1n, createdAtMs: 1n, isActive: true, ratePerSecond: 0, binds: 1 },
    ...{ answerTimeoutMs: 10_000, hasSingleReceipt: false, secretsUnreadable: false },
    ...{ linkFingerprint: "smpp", httpCallbacks: undefined },
    createLink() {
      throw new Error("this connector has no link");
    },
    ...fields,
  };
}

/** A runner that does nothing, except for the methods that a test gives. */
export function fakeRunner(methods: Partial<ConnectorRunner> = {}): ConnectorRunner {
  return {
    notify: () => undefined,
    setActive: () => undefined,
    setRateLimiter: () => undefined,
    setOwned: () => undefined,
    isLinked: () => false,
    noteReceipt: () => undefined,
    reports: () => [],
    close: async () => undefined,
    dropBinds: () => undefined,
    ...methods,
  };
}
