/** Conformance suite of the port `HealthStore`, on MongoDB. */
import { expect } from "chai";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { changeEndpoint, type Endpoint } from "../../../services/webhook/domain/endpoint.ts";
import { createEndpoints, type Endpoints } from "../../../services/webhook/store/endpoints.ts";
import { sampleEndpoint } from "../../support/webhook-endpoint.ts";
import { useWebhookStores } from "../../support/webhook-harness.ts";

const NOW = Date.now();
const SINCE = NOW - 4 * 86_400_000;
const REASON = "Every delivery failed.";

describe("the stored health of a webhook endpoint", () => {
  const stores = useWebhookStores();
  let store: Endpoints;
  let other: Endpoints;
  before(() => {
    const { client, db } = stores().mongo;
    const open = () => createEndpoints(client, db, createAuditLog(db, 3_600_000));
    [store, other] = [open(), open()];
  });

  const now = async ({ tenantId, mode, id }: Endpoint) => {
    const found = await other.get({ tenantId, mode, endpointId: id });
    if (found === undefined) throw new Error("it is gone");
    return found;
  };
  /** A new endpoint, as an attempt reads it. */
  async function add(failingSinceMs = 0): Promise<Endpoint> {
    const endpoint = sampleEndpoint(SINCE - 1000, { url: "https://example.com/old" });
    await stores().mongo.client.withSession((session) => store.insert(endpoint, session));
    if (failingSinceMs > 0) {
      expect(await store.markFailing(endpoint, failingSinceMs)).to.equal(true);
    }
    return now(endpoint);
  }
  async function save(endpoint: Endpoint, change: Parameters<typeof changeEndpoint>[1]) {
    expect(await store.save(changeEndpoint(endpoint, change, NOW))).to.equal(true);
    return now(endpoint);
  }
  /** Every change that an attempt may decide on; returns the names of those that were made. */
  async function tryAll(read: Endpoint): Promise<string[]> {
    const tries = {
      clear: () => store.clearFailing(read),
      mark: () => store.markFailing(read, NOW),
      warn: () => store.markWarned(read, NOW),
      disable: () => store.disable(read, REASON, NOW),
    };
    const made: string[] = [];
    for (const [name, work] of Object.entries(tries)) if (await work()) made.push(name);
    return made;
  }

  it("keeps the first failure of several, also of replicas at once, until a success", async () => {
    const endpoint = await add();
    const marks = await Promise.all(
      [1, 2, 3, 4].map((at) => (at % 2 ? store : other).markFailing(endpoint, SINCE + at)),
    );
    expect(marks.filter(Boolean)).to.have.length(1);
    const failing = await now(endpoint);
    expect(failing.failingSinceMs).to.equal(SINCE + 1 + marks.indexOf(true));
    expect(await store.markFailing(failing, NOW)).to.equal(false);
    const clears = await Promise.all([store, other].map((on) => on.clearFailing(failing)));
    expect(clears.filter(Boolean)).to.have.length(1);
    expect(await now(endpoint)).to.deep.equal(endpoint);
    expect(await store.markFailing(endpoint, NOW)).to.equal(true);
  });

  it("is warned about once, of several replicas that decide so at once", async () => {
    const failing = await add(SINCE);
    const warnings = await Promise.all(
      [1, 2, 3, 4].map((at) => (at % 2 ? store : other).markWarned(failing, NOW + at)),
    );
    expect(warnings.filter(Boolean)).to.have.length(1);
    const warnedAtMs = NOW + 1 + warnings.indexOf(true);
    expect(await now(failing)).to.deep.equal({ ...failing, warnedAtMs });
    expect(await store.clearFailing(failing)).to.equal(true);
    expect(await now(failing)).to.include({ failingSinceMs: 0, warnedAtMs: 0 });
  });

  it("disables the endpoint once while the state of its decision is unchanged, and increases its version", async () => {
    const failing = await add(SINCE);
    expect(await store.markWarned(failing, NOW)).to.equal(true);
    const disabled = await Promise.all(
      [store, other, store].map((on) => on.disable(failing, REASON, NOW)),
    );
    expect(disabled.filter(Boolean)).to.have.length(1);
    const after = await now(failing);
    expect(after).to.deep.equal({
      ...{ ...failing, status: "disabled", disabledReason: REASON, warnedAtMs: NOW },
      ...{ updatedAtMs: NOW, version: failing.version + 1 },
    });
    // The owner's change of the enabled endpoint is one of a state that is no more.
    expect(await store.save(changeEndpoint(failing, { description: "late" }, NOW))).to.equal(false);
    expect(await store.disable(await add(), REASON, NOW), "it does not fail").to.equal(false);
  });

  it("is neither warned about nor disabled after a success", async () => {
    const failing = await add(SINCE);
    expect(await store.clearFailing(failing)).to.equal(true);
    expect(await store.markWarned(failing, NOW)).to.equal(false);
    expect(await store.disable(failing, REASON, NOW)).to.equal(false);
    // A failure after that starts another record.
    expect(await store.markFailing(failing, NOW - 1000)).to.equal(true);
    expect(await store.markWarned(failing, NOW)).to.equal(false);
    expect(await store.disable(failing, REASON, NOW)).to.equal(false);
    expect(await now(failing)).to.include({ status: "enabled", failingSinceMs: NOW - 1000 });
  });

  it("is cleared by a success whose read is older than the mark", async () => {
    const healthy = await add();
    await store.markFailing(healthy, NOW);
    expect(await store.clearFailing(healthy)).to.equal(true);
    expect(await now(healthy)).to.include({ failingSinceMs: 0, warnedAtMs: 0 });
    expect(await store.clearFailing(healthy)).to.equal(false);
  });

  it("ignores results of an old URL, also successes", async () => {
    const failing = await add(SINCE);
    const moved = await save(failing, { url: "https://example.com/new" });
    expect(await tryAll(failing)).to.deep.equal([]);
    expect(await now(failing)).to.deep.equal(moved);
    expect(await store.markFailing(moved, NOW)).to.equal(true);
    expect(await tryAll(failing)).to.deep.equal([]);
    expect(await now(failing)).to.include({ failingSinceMs: NOW, status: "enabled" });
  });

  it("ignores failures of an earlier enabled period, and of a disabled or deleted endpoint", async () => {
    const failing = await add(SINCE);
    const off = await save(failing, { status: "disabled" });
    const marks = async () => [
      await store.markFailing(failing, NOW),
      await store.markWarned(failing, NOW),
      await store.disable(failing, REASON, NOW),
    ];
    expect(await marks()).to.deep.equal([false, false, false]);
    expect(await now(failing)).to.include({ disabledReason: off.disabledReason });
    const on = await save(off, { status: "enabled" });
    expect(await marks()).to.deep.equal([false, false, false]);
    expect(await now(failing)).to.deep.equal(on);
    expect(await store.markFailing(on, NOW)).to.equal(true);
    const { tenantId, mode, id } = on;
    expect(await store.delete({ tenantId, mode, endpointId: id })).to.equal(true);
    expect(await tryAll({ ...on, failingSinceMs: NOW })).to.deep.equal([]);
  });

  it("changes neither the version nor the time of the owner's changes, except by disabling", async () => {
    const endpoint = await add();
    await store.markFailing(endpoint, SINCE);
    await store.markWarned(await now(endpoint), NOW);
    const { version, updatedAtMs } = endpoint;
    expect(await now(endpoint)).to.include({ version, updatedAtMs });
    await store.clearFailing(endpoint);
    expect(await now(endpoint)).to.deep.equal(endpoint);
    await save(endpoint, { description: "of the version that was read" });
  });
});
