/** Idempotency keys of webhook operations while requests run, and after a crash. */
import { type Client, createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { Binary } from "mongodb";
import { KeyedOperation, WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import { systemClock } from "../../../services/shared/core/clock.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { createLocalTransport } from "../../../services/shared/rpc/local-transport.ts";
import { createWebhookRpc, type RpcParts } from "../../../services/webhook/adapters/rpc.ts";
import { createIdempotency } from "../../../services/webhook/store/idempotency.ts";
import { sampleEndpoint } from "../../support/webhook-endpoint.ts";
import { TEST_ENCRYPTION_KEYS, useWebhookStores } from "../../support/webhook-harness.ts";

const TARGET = { tenantId: newId("tenant"), endpointId: newId("webhookEndpoint") };
const nothing = {} as never;
const KEPT_MS = 60_000;

/** A memory store whose recovery takes as long as a test wants. */
function createSlowDeliveries() {
  const recoveredSince: number[] = [];
  let finish: (() => void) | undefined;
  const { endpointId: id, tenantId } = TARGET;
  const endpoint = sampleEndpoint(Date.now(), { id, tenantId });
  const deliveries: RpcParts["deliveries"] = {
    clock: systemClock,
    endpoints: { get: async () => endpoint },
    deliveries: {
      list: nothing,
      get: nothing,
      insertDue: nothing,
      ofMessage: nothing,
      resend: nothing,
      async recover(_endpointId, sinceMs) {
        recoveredSince.push(sinceMs);
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return 7;
      },
    },
    nudge: () => undefined,
    attemptsMax: 5,
  };
  return {
    deliveries,
    recoveredSince,
    /** Waits until a recovery has started, then lets it end. */
    async finishNext(meanwhile: () => Promise<void> = async () => undefined) {
      while (finish === undefined) await new Promise(setImmediate);
      await meanwhile();
      finish();
      finish = undefined;
    },
  };
}

describe("idempotency keys of webhook operations", () => {
  const stores = useWebhookStores();
  let slow: ReturnType<typeof createSlowDeliveries>;
  let client: Client<typeof WebhookService>;

  beforeEach(() => {
    const { mongo } = stores();
    slow = createSlowDeliveries();
    const box = createSecretBox(TEST_ENCRYPTION_KEYS);
    const rpc = createWebhookRpc({
      endpoints: nothing,
      deliveries: slow.deliveries,
      deadLetters: nothing,
      events: nothing,
      audit: createAuditLog(mongo.db, KEPT_MS),
      idempotency: createIdempotency(mongo.client, mongo.db, box, KEPT_MS),
    });
    const routes: Parameters<typeof createLocalTransport>[0]["routes"] = (router) =>
      router.service(WebhookService, rpc);
    client = createClient(WebhookService, createLocalTransport({ routes }));
  });

  const keyed = (key: string, since: number) => ({
    ...{ ...TARGET, idempotencyKey: key },
    fingerprint: fingerprint({ since }),
  });
  const recover = (key: string, since: number) =>
    client.recoverDeliveries({ ...keyed(key, since), sinceMs: BigInt(since) });
  const check = (key: string, since: number) =>
    client.checkKey({ ...keyed(key, since), operation: KeyedOperation.RECOVER_DELIVERIES });
  const codeOf = (call: Promise<unknown>): Promise<string> =>
    call.then(
      () => "no error",
      (error) => toAppError(error).code,
    );
  const fences = () => stores().mongo.db.collection<{ _id: string }>("fences");

  it("return conflict for the same request and refuse a different one while the first runs", async () => {
    const first = recover("running", 1);
    await slow.finishNext(async () => {
      for (const ask of [recover, check]) {
        expect(await codeOf(ask("running", 1))).to.equal("conflict");
        expect(await codeOf(ask("running", 2))).to.equal("idempotency_key_reused");
      }
      expect(await codeOf(check("another", 2))).to.equal("no error");
    });
    const answer = await first;
    expect(answer).to.deep.include({ recovered: 7n, replayed: false });
    expect(await recover("running", 1)).to.deep.equal({ ...answer, replayed: true });
    expect(await codeOf(recover("running", 2))).to.equal("idempotency_key_reused");
    expect(await codeOf(check("running", 1))).to.equal("no error");
    expect(await codeOf(check("running", 2))).to.equal("idempotency_key_reused");
    expect(slow.recoveredSince, "the refused ones had no effect").to.deep.equal([1]);
    expect(await fences().countDocuments({}), "no fence is left").to.equal(0);
  });

  it("are kept for as long as the setting says", async () => {
    const beforeMs = Date.now();
    const first = recover("kept", 1);
    await slow.finishNext();
    await first;
    const record = await stores()
      .mongo.db.collection<{ _id: string; expires_at: Date }>("idempotency")
      .findOne({ _id: { $regex: /\|kept$/ } });
    const keptMs = Number(record?.expires_at.getTime()) - beforeMs;
    expect(keptMs).to.be.within(KEPT_MS, KEPT_MS + 30_000);
  });

  it("have one effect under many concurrent requests, and the others return conflict", async () => {
    const calls = Array.from({ length: 20 }, () => codeOf(recover("many", 1)));
    await slow.finishNext(async () => {
      const others = new Set<string>();
      let open = calls.length;
      for (const call of calls) {
        void call.then((code) => {
          open -= 1;
          others.add(code);
        });
      }
      while (open > 1) await new Promise(setImmediate);
      expect([...others]).to.deep.equal(["conflict"]);
    });
    expect((await Promise.all(calls)).filter((code) => code === "no error")).to.have.length(1);
    expect(slow.recoveredSince).to.deep.equal([1]);
  });

  it("are free after a failed request", async () => {
    const { deliveries } = slow.deliveries;
    const failing = { ...deliveries, recover: () => Promise.reject(new Error("a fault")) };
    Object.assign(slow.deliveries, { deliveries: failing });
    expect(await codeOf(recover("failed", 1))).to.equal("internal_error");
    Object.assign(slow.deliveries, { deliveries });
    const next = recover("failed", 2);
    await slow.finishNext();
    expect((await next).replayed).to.equal(false);
  });

  it("are free once the lock of a dead process expires, and not before", async () => {
    const _id = `${TARGET.tenantId}|recover|${TARGET.endpointId}|died`;
    const left = { _id, owner: "a process that died", fingerprint: new Binary(fingerprint({})) };
    await fences().insertOne({ ...left, until: new Date(Date.now() + 60_000) } as typeof left);
    expect(await codeOf(recover("died", 1))).to.equal("idempotency_key_reused");
    await fences().updateOne({ _id }, { $set: { until: new Date() } });
    const next = recover("died", 1);
    await slow.finishNext();
    expect((await next).replayed).to.equal(false);
    expect(await fences().findOne({ _id })).to.equal(null);
  });
});
