/** Health records on a real MongoDB, written by attempts with an old read of the endpoint. */
import { expect } from "chai";
import { runTransaction } from "../../../services/shared/io/mongo.ts";
import {
  changeEndpoint,
  type Endpoint,
  rotateSecret,
} from "../../../services/webhook/domain/endpoint.ts";
import { createEndpoints, type Endpoints } from "../../../services/webhook/store/endpoints.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import { sampleEndpoint } from "../../support/webhook-endpoint.ts";
import { openWebhookStores } from "../../support/webhook-harness.ts";

const NOW = Date.now();
const SINCE = NOW - 4 * 86_400_000;
const REASON = "Every delivery failed.";

describe("the health record of a webhook endpoint", () => {
  let servers: TestServers;
  let stores: Awaited<ReturnType<typeof openWebhookStores>>;
  let store: Endpoints;

  before(async () => {
    servers = await startServers();
    stores = await openWebhookStores(servers, freshDatabase("webhook"));
    store = createEndpoints(stores.mongo.db);
  });
  after(async () => {
    await stores?.close();
    await servers?.stop();
  });

  const now = async ({ tenantId, id }: Endpoint) => {
    const found = await store.get({ tenantId, mode: undefined, endpointId: id });
    if (found === undefined) throw new Error("it is gone");
    return found;
  };

  /** A new endpoint, as an attempt reads it. */
  async function add(failingSinceMs = 0): Promise<Endpoint> {
    const endpoint = sampleEndpoint(SINCE - 1000, { url: "https://example.com/old" });
    await stores.mongo.client.withSession((session) => store.insert(endpoint, session));
    if (failingSinceMs > 0) await store.markFailing(endpoint, failingSinceMs);
    return now(endpoint);
  }

  async function save(endpoint: Endpoint, change: Parameters<typeof changeEndpoint>[1]) {
    expect(await store.save(changeEndpoint(endpoint, change, NOW))).to.equal(true);
  }

  it("is changed after a concurrent transaction ends", async () => {
    const endpoint = await add();
    const { client } = stores.mongo;
    const changed = changeEndpoint(endpoint, { description: "changed" }, NOW);
    const other = client.startSession();
    other.startTransaction();
    await store.saveWithin(changed, other);
    const tried = runTransaction(client, (session) => store.saveWithin(changed, session));
    await new Promise((resolve) => setTimeout(resolve, 100));
    await other.abortTransaction();
    await other.endSession();
    expect(await tried).to.equal(true);
    expect(await now(endpoint)).to.include({ description: "changed", version: changed.version });
  });

  it("is disabled while the state it was decided on is unchanged", async () => {
    const failing = await add(SINCE);
    expect(await store.markWarned(failing, NOW)).to.equal(true);
    expect(await store.disable(failing, REASON, NOW)).to.equal(true);
    expect(await now(failing)).to.include({ status: "disabled", disabledReason: REASON });
    expect(await store.disable(await add(), REASON, NOW)).to.equal(false);
  });

  it("is neither disabled nor warned about after a success", async () => {
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

  it("ignores results of an old URL", async () => {
    const failing = await add(SINCE);
    await save(failing, { url: "https://example.com/new" });
    expect(await store.disable(failing, REASON, NOW)).to.equal(false);
    expect(await store.markFailing(failing, NOW)).to.equal(false);
    expect(await now(failing)).to.include({ status: "enabled", failingSinceMs: 0 });
    expect(await store.markFailing(await now(failing), NOW)).to.equal(true);
    expect(await store.clearFailing(failing)).to.equal(false);
    expect(await now(failing)).to.include({ failingSinceMs: NOW });
  });

  it("is cleared by a success whose read is older than the mark", async () => {
    const healthy = await add();
    await store.markFailing(healthy, NOW);
    expect(await store.clearFailing(healthy)).to.equal(true);
    expect(await now(healthy)).to.include({ failingSinceMs: 0, warnedAtMs: 0 });
    expect(await store.clearFailing(healthy)).to.equal(false);
  });

  it("keeps marks and clears while its owner changes something else", async () => {
    const failing = await add(SINCE);
    await store.markWarned(failing, NOW);
    const loaded = await now(failing);
    await store.clearFailing(failing);
    await save(loaded, { description: "new" });
    expect(await now(failing)).to.include({ failingSinceMs: 0, warnedAtMs: 0 });

    const healthy = await add();
    await store.markFailing(healthy, NOW);
    expect(await store.save(rotateSecret(healthy, "second", NOW))).to.equal(true);
    expect(await now(healthy)).to.include({ failingSinceMs: NOW, version: 2 });
  });

  it("starts clean at a new URL, even if failures were marked during the change", async () => {
    const healthy = await add();
    await store.markFailing(healthy, NOW);
    await save(healthy, { url: "https://example.com/new" });
    expect(await now(healthy)).to.include({ failingSinceMs: 0, url: "https://example.com/new" });
  });
});
