/** Conformance suite of the port `EndpointStore`, on MongoDB. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { runTransaction } from "../../../services/shared/io/mongo.ts";
import {
  changeEndpoint,
  type Endpoint,
  rotateSecret,
} from "../../../services/webhook/domain/endpoint.ts";
import { createEndpoints, type Endpoints } from "../../../services/webhook/store/endpoints.ts";
import { eventually } from "../../support/poll.ts";
import { sampleEndpoint } from "../../support/webhook-endpoint.ts";
import { useWebhookStores } from "../../support/webhook-harness.ts";

const NOW = Date.now();
const SINCE = NOW - 4 * 86_400_000;

describe("the stored webhook endpoint", () => {
  const stores = useWebhookStores();
  let store: Endpoints;
  before(() => {
    const { client, db } = stores().mongo;
    store = createEndpoints(client, db, createAuditLog(db, 3_600_000));
  });

  const keyOf = ({ tenantId, mode, id }: Endpoint) => ({ tenantId, mode, endpointId: id });
  const now = async (endpoint: Endpoint) => {
    const found = await store.get(keyOf(endpoint));
    if (found === undefined) throw new Error("it is gone");
    return found;
  };
  const insert = (endpoint: Endpoint) =>
    stores().mongo.client.withSession((session) => store.insert(endpoint, session));
  const idsOf = (endpoints: readonly Endpoint[]) => endpoints.map(({ id }) => id);

  /** A new endpoint, as an attempt reads it. */
  async function add(failingSinceMs = 0): Promise<Endpoint> {
    const endpoint = sampleEndpoint(SINCE - 1000, { url: "https://example.com/old" });
    await insert(endpoint);
    if (failingSinceMs > 0) await store.markFailing(endpoint, failingSinceMs);
    return now(endpoint);
  }

  async function save(endpoint: Endpoint, change: Parameters<typeof changeEndpoint>[1]) {
    expect(await store.save(changeEndpoint(endpoint, change, NOW))).to.equal(true);
  }

  it("is read as it was inserted", async () => {
    const endpoint = sampleEndpoint(NOW, { mode: "test", sources: ["api"], description: "mine" });
    expect(await insert(endpoint)).to.equal(true);
    expect(await now(endpoint)).to.deep.equal(endpoint);
  });

  it("is one of five of its tenant and mode, also when all are inserted at once", async () => {
    const tenantId = newId("tenant");
    for (const mode of ["live", "test"] as const) {
      const wanted = Array.from({ length: 8 }, () => sampleEndpoint(NOW, { tenantId, mode }));
      const inserted = await Promise.allSettled(wanted.map(insert));
      // A loser of a race for a slot is refused by the unique index, and may try again.
      for (const endpoint of wanted) {
        if ((await store.get(keyOf(endpoint))) === undefined) await insert(endpoint);
      }
      expect(inserted.length).to.equal(8);
      expect(await store.list({ tenantId, mode })).to.have.length(5);
      expect(await insert(sampleEndpoint(NOW, { tenantId, mode }))).to.equal(false);
    }
    expect(await store.list({ tenantId, mode: undefined })).to.have.length(10);
    const [one] = await store.list({ tenantId, mode: "test" });
    if (one === undefined) throw new Error("there is none");
    expect(await store.delete(keyOf(one))).to.equal(true);
    expect(await insert(sampleEndpoint(NOW, { tenantId, mode: "live" }))).to.equal(false);
    expect(await insert(sampleEndpoint(NOW, { tenantId, mode: "test" }))).to.equal(true);
  });

  it("does not exist for another tenant or mode, and exists for a caller without a mode", async () => {
    for (const mode of ["live", "test"] as const) {
      const endpoint = sampleEndpoint(NOW, { mode });
      await insert(endpoint);
      const { tenantId } = endpoint;
      const other = mode === "live" ? "test" : "live";
      for (const wrong of [
        { ...keyOf(endpoint), mode: other } as const,
        { ...keyOf(endpoint), tenantId: newId("tenant") },
      ]) {
        expect(await store.get(wrong)).to.equal(undefined);
        expect(await store.list(wrong)).to.deep.equal([]);
        expect(await store.delete(wrong)).to.equal(false);
      }
      const any = { ...keyOf(endpoint), mode: undefined };
      expect(await store.get(any)).to.deep.equal(endpoint);
      expect(idsOf(await store.list({ tenantId, mode }))).to.deep.equal([endpoint.id]);
      expect(await store.delete(any)).to.equal(true);
      expect(await store.delete(any)).to.equal(false);
    }
  });

  it("is live when it was stored without a mode", async () => {
    const endpoint = await add();
    const documents = stores().mongo.db.collection<{ _id: string }>("endpoints");
    await documents.updateOne({ _id: endpoint.id }, { $unset: { mode: "" } });
    expect(await now(endpoint)).to.deep.equal(endpoint);
    expect(await store.get({ ...keyOf(endpoint), mode: "test" })).to.equal(undefined);
  });

  it("is found among the enabled ones of its tenant, and by its id in any state", async () => {
    const [enabled, disabled] = [await add(), await add()];
    await save(disabled, { status: "disabled" });
    const tenants = [enabled.tenantId, disabled.tenantId];
    expect(idsOf(await store.findEnabled(tenants))).to.deep.equal([enabled.id]);
    const found = idsOf(await store.findByIds([enabled.id, disabled.id, "whe_0"]));
    expect(found).to.have.members([enabled.id, disabled.id]);
  });

  it("is saved only over the version that was changed", async () => {
    const endpoint = await add();
    await save(endpoint, { description: "first" });
    const late = changeEndpoint(endpoint, { description: "second" }, NOW);
    expect(await store.save(late)).to.equal(false);
    expect(await now(endpoint)).to.include({ description: "first", version: 2 });
  });

  it("is changed after a concurrent transaction ends", async () => {
    const endpoint = await add();
    const { client } = stores().mongo;
    const changed = changeEndpoint(endpoint, { description: "changed" }, NOW);
    const other = client.startSession();
    other.startTransaction();
    await store.saveWithin(changed, other);
    let attempts = 0;
    const tried = runTransaction(client, (session) => {
      attempts += 1;
      return store.saveWithin(changed, session);
    });
    await eventually(() => attempts > 1);
    await other.abortTransaction();
    await other.endSession();
    expect(await tried).to.equal(true);
    expect(await now(endpoint)).to.include({ description: "changed", version: changed.version });
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
