import { Writable } from "node:stream";
import { expect } from "chai";
import {
  ConfigError,
  durationMs,
  list,
  oneOf,
  readConfig,
  text,
  whole,
} from "../../../services/shared/io/config.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import { createLifecycle } from "../../../services/shared/io/lifecycle.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { createMetrics } from "../../../services/shared/io/metrics.ts";
import { watchOutboxAge } from "../../../services/shared/io/outbox-age.ts";

const silent = createLogger("test", "silent");

describe("settings", () => {
  const schema = {
    URI: text(),
    LIMIT: whole(1, 10, 5),
    WAIT_MS: durationMs(100),
    MODE: oneOf(["keep", "remove"], "keep"),
    NETWORKS: list(text(), []),
  };

  it("report every fault together, by name", () => {
    const read = () => readConfig({ LIMIT: "11", WAIT_MS: "soon", MODE: "x" }, schema);
    expect(read).to.throw(ConfigError).with.property("faults").with.length(4);
    expect(read).to.throw(/URI[\s\S]*LIMIT[\s\S]*WAIT_MS[\s\S]*MODE/);
  });

  it("fall back when absent or empty, and are frozen", () => {
    const config = readConfig({ URI: "x", LIMIT: "", NETWORKS: "a, b," }, schema);
    expect(config).to.deep.equal({
      URI: "x",
      LIMIT: 5,
      WAIT_MS: 100,
      MODE: "keep",
      NETWORKS: ["a", "b"],
    });
    expect(Object.isFrozen(config)).to.equal(true);
  });
});

describe("secrets at rest", () => {
  const key = (byte: number) => Buffer.alloc(32, byte).toString("base64");

  it("decrypt only with their key, unaltered, and in their own context", () => {
    const box = createSecretBox(`a:${key(1)}`);
    const sealed = box.seal("whsec_x", "endpoint 1");
    expect(box.open(sealed, "endpoint 1")).to.equal("whsec_x");
    expect(() => box.open(sealed, "endpoint 2")).to.throw();
    expect(() => box.open(`${sealed.slice(0, -2)}AA`, "endpoint 1")).to.throw();
    expect(() => createSecretBox(`a:${key(2)}`).open(sealed, "endpoint 1")).to.throw();
  });

  it("decrypt with any name of the key", () => {
    const box = createSecretBox(`2024.1:${key(1)}`);
    expect(box.open(box.seal("whsec_x", "endpoint 1"), "endpoint 1")).to.equal("whsec_x");
  });

  it("decrypt after a new first key was added", () => {
    const sealed = createSecretBox(`old:${key(1)}`).seal("x", "c");
    const rotated = createSecretBox(`new:${key(2)},old:${key(1)}`);
    expect(rotated.open(sealed, "c")).to.equal("x");
    expect(rotated.seal("x", "c").startsWith("new.")).to.equal(true);
  });

  it("encrypt to a different text each time", () => {
    const box = createSecretBox(`a:${key(1)}`);
    expect(box.seal("x", "c")).not.to.equal(box.seal("x", "c"));
  });

  it("refuse keys of another length", () => {
    expect(() => createSecretBox("a:c2hvcnQ=")).to.throw(/32 bytes/);
  });

  it("refuse two keys with the same id: one could not decrypt the texts of the other", () => {
    const keys = `a:${key(1)},b:${key(2)},a:${key(3)}`;
    expect(() => createSecretBox(keys)).to.throw("ENCRYPTION_KEYS has the id a twice");
  });
});

describe("a lifecycle", () => {
  const options = { log: silent, drainDelayMs: 0, closeTimeoutMs: 200 };

  it("closes last opened first, and is not ready once draining begins", async () => {
    const lifecycle = createLifecycle(options);
    const closed: string[] = [];
    for (const name of ["database", "events", "server"]) {
      lifecycle.onClose(name, async () => {
        closed.push(name);
        expect(await lifecycle.failingChecks()).to.deep.equal(["draining"]);
      });
    }
    expect(await lifecycle.failingChecks()).to.deep.equal(["starting"]);
    lifecycle.markReady();
    expect(await lifecycle.failingChecks()).to.deep.equal([]);
    expect(await lifecycle.close()).to.equal(true);
    expect(closed).to.deep.equal(["server", "events", "database"]);
  });

  it("names the failing dependencies", async () => {
    const lifecycle = createLifecycle(options);
    lifecycle.addReadinessCheck("good", () => undefined);
    lifecycle.addReadinessCheck("bad", () => Promise.reject(new Error("away")));
    lifecycle.markReady();
    expect(await lifecycle.failingChecks()).to.deep.equal(["bad"]);
  });

  it("closes the other parts when one hangs or fails, and reports it", async () => {
    const lifecycle = createLifecycle(options);
    const closed: string[] = [];
    lifecycle.onClose("first", () => void closed.push("first"));
    lifecycle.onClose("failing", () => Promise.reject(new Error("no")));
    lifecycle.onClose("hanging", () => new Promise<void>(() => undefined));
    expect(await lifecycle.close()).to.equal(false);
    expect(closed).to.deep.equal(["first"]);
  });
});

describe("the age of an outbox", () => {
  it("is in seconds, and NaN while the database does not answer", async () => {
    const registry = createMetrics();
    watchOutboxAge(registry, "messaging", async () => ({ count: 1, oldestMs: 61_500 }));
    watchOutboxAge(registry, "wallet", async () => ({ count: 0, oldestMs: 0 }));
    watchOutboxAge(registry, "sender_id", () => Promise.reject(new Error("away")));
    const text = await registry.metrics();
    expect(text).to.contain("\nmessaging_outbox_oldest_seconds 61.5\n");
    expect(text).to.contain("\nwallet_outbox_oldest_seconds 0\n");
    expect(text).to.contain("\nsender_id_outbox_oldest_seconds Nan\n");
  });
});

describe("logs", () => {
  it("never contain bodies, numbers or secrets, at any depth that call sites use", () => {
    const lines: string[] = [];
    const sink = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    });
    const log = createLogger("test", "info", sink as never);
    log.info({ to: "+2348031234567", message: { body: "hello", from: "Acme" } }, "one");
    log.error({ request: { authorization: "Bearer sk_live_x" }, secret: "whsec_x" }, "two");
    const all = lines.join("");
    for (const secret of ["2348031234567", "hello", "Acme", "sk_live", "whsec"]) {
      expect(all).not.to.include(secret);
    }
    expect(all.match(/\[redacted\]/g)).to.have.length(5);
  });
});
