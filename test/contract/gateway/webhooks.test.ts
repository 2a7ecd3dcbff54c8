/** The gateway's part of the webhook operations, with a webhook service in memory. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect } from "chai";
import type { OperationPorts } from "../../../gateway/operations/all.ts";
import {
  CreateEndpointRequestSchema,
  DeliverySchema,
  KeyedOperation,
  type ListDeliveriesRequest,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { fingerprint } from "../../../services/shared/core/canonical-json.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { API_KEY, openRestApp, type RestApp } from "../../support/rest-app.ts";

const PATH = "/v1/webhook-endpoints";
const ENDPOINT = newId("webhookEndpoint");
const DELIVERY = newId("webhookDelivery");

/** Every POST operation, with an invalid body. */
const KEYED = [
  ["", "CREATE_ENDPOINT", { url: 1 }],
  [`/${ENDPOINT}/rotate-secret`, "ROTATE_SECRET", { more: 1 }],
  [`/${ENDPOINT}/deliveries/${DELIVERY}/resend`, "RESEND_DELIVERY", { more: 1 }],
  [`/${ENDPOINT}/recover`, "RECOVER_DELIVERIES", { since: "yesterday" }],
  [`/${ENDPOINT}/test`, "SEND_TEST_EVENT", { more: 1 }],
] as const;

/** A webhook service with the methods that a test gives; any other call fails. */
function serving(methods: Record<string, (request: never) => Promise<unknown>>) {
  return methods as unknown as OperationPorts["webhooks"];
}
const isThere = async () => ({});
const isFree = async () => ({ answered: false });
const reused = async () => {
  throw new AppError("idempotency_key_reused", "Used with a different body.");
};
const isGone = async () => {
  throw new AppError("not_found", "There is none.");
};

describe("REST: webhook operations in the gateway", () => {
  let app: RestApp | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  async function call(
    webhooks: OperationPorts["webhooks"],
    method: string,
    path: string,
    body?: unknown,
    key?: string,
  ): Promise<{ status: number; code: string; data: unknown }> {
    app = await openRestApp({ ports: { webhooks } });
    const answer = await fetch(`${app.url}${PATH}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${API_KEY}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const { code = "", data } = (await answer.json()) as { code?: string; data?: unknown };
    await app.close();
    return { status: answer.status, code, data };
  }

  for (const [path, operation, body] of KEYED) {
    const name = path.replace(ENDPOINT, "…").replace(DELIVERY, "…");
    const finds = path.endsWith("/resend") ? "getDelivery" : "getEndpoint";
    it(`POST ${name}: 404, then idempotency, then 422`, async () => {
      const post = (methods: Parameters<typeof serving>[0], key?: string, sent: unknown = body) =>
        call(serving(methods), "POST", path, sent, key);
      if (path !== "") {
        const gone = await post({ [finds]: isGone, checkKey: reused }, "one");
        expect(gone.status).to.equal(404);
        expect((await post({ [finds]: isGone }, "no key!")).status).to.equal(404);
      }
      const used = await post({ [finds]: isThere, checkKey: reused }, "one");
      expect([used.status, used.code]).to.deep.equal([409, "idempotency_key_reused"]);

      const asked: unknown[] = [];
      const checkKey = async (request: unknown) => {
        asked.push(request);
        return isFree();
      };
      const free = await post({ [finds]: isThere, checkKey }, "one");
      expect([free.status, free.code]).to.deep.equal([422, "validation_error"]);
      expect(asked[0]).to.deep.include({
        operation: KeyedOperation[operation],
        idempotencyKey: "one",
        fingerprint: fingerprint(body),
      });

      // Without a key or a parsed body there is nothing to look up.
      const never = { [finds]: isThere };
      expect((await post(never)).status).to.equal(422);
      expect((await post(never, "no key!")).status).to.equal(422);
      expect((await post(never, "one", "{")).status).to.equal(422);
    });
  }

  it("a repeated request gets its stored response despite an invalid query; other requests do not", async () => {
    const path = `/${ENDPOINT}/recover?dry_run=true`;
    const since = "2026-11-01T00:00:00Z";
    const recoverDeliveries = async () => ({ recovered: 7n, replayed: true });
    const answered = { checkKey: async () => ({ answered: true }), recoverDeliveries };
    const post = (methods: Parameters<typeof serving>[0], body: unknown) =>
      call(serving({ getEndpoint: isThere, ...methods }), "POST", path, body, "one");
    const repeat = await post(answered, { since });
    expect([repeat.status, repeat.data]).to.deep.equal([
      202,
      { object: "webhook_recovery", recovered: 7 },
    ]);
    expect((await post({ ...answered, checkKey: isFree }, { since })).status).to.equal(422);
    expect((await post(answered, { since: "yesterday" })).status).to.equal(422);
  });

  it("texts have lone surrogates replaced, so that the first response equals its replay", async () => {
    const seen: unknown[] = [];
    const schema = CreateEndpointRequestSchema;
    const createEndpoint = async (request: Parameters<typeof create<typeof schema>>[1]) => {
      const sent = create(schema, request);
      expect(fromBinary(schema, toBinary(schema, sent))).to.deep.equal(sent);
      seen.push([sent.url, sent.description]);
      return isGone();
    };
    const body = { url: "https://example.com/\ud800", description: "a\udc00" };
    const answer = await call(serving({ createEndpoint }), "POST", "", body);
    expect(answer.status).to.equal(404);
    expect(seen).to.deep.equal([["https://example.com/\ufffd", "a\ufffd"]]);
  });

  it("an attempt at an address of our network is shown as any failed connection", async () => {
    const listDeliveries = async () => {
      const deliveries = ["connection", "address_not_allowed"].map((error) =>
        create(DeliverySchema, { attempts: [{ number: 1, durationMs: 3, error }] }),
      );
      return { deliveries, hasMore: false };
    };
    const path = `/${ENDPOINT}/deliveries`;
    const { data } = await call(serving({ listDeliveries }), "GET", path);
    const [failed, refused] = data as unknown[];
    expect(refused).to.deep.equal(failed);
    expect(failed).to.nested.include({ "attempts[0].error": "connection" });
  });

  it("a list of deliveries with an end at or before 1970 keeps that end", async () => {
    const ends: bigint[] = [];
    const listDeliveries = async ({ createdBeforeMs }: ListDeliveriesRequest) => {
      ends.push(createdBeforeMs);
      return { deliveries: [], hasMore: false };
    };
    for (const query of [
      "?created_before=1970-01-01T00:00:00Z",
      "?created_before=1969-12-31T23:59:59Z",
      "?created_before=1970-01-01T00:00:00.002Z",
      "",
    ]) {
      const path = `/${ENDPOINT}/deliveries${query}`;
      const answer = await call(serving({ listDeliveries }), "GET", path);
      expect(answer.data).to.deep.equal([]);
    }
    expect(ends, "0 is no end").to.deep.equal([1n, 1n, 2n, 0n]);
  });
});
