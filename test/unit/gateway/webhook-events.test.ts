/** Compares the events of the OpenAPI document with the bodies that the webhook service sends. */
import { expect } from "chai";
import { buildOpenApi } from "../../../gateway/docs/openapi.ts";
import { EVENT_EXAMPLES } from "../../../gateway/docs/webhook-events.ts";
import { createOperations } from "../../../gateway/operations/all.ts";
import { EVENT_TYPES, type EventType } from "../../../services/shared/core/event-types.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { MESSAGE_STATUSES } from "../../../services/shared/core/message-status.ts";
import type {
  CampaignView,
  DomainEvent,
  MessageView,
  SenderIdView,
  WalletView,
} from "../../../services/webhook/domain/domain-event.ts";
import { webhookEventsOf } from "../../../services/webhook/domain/event-fan-out.ts";
import { eventBody, testData } from "../../../services/webhook/domain/payloads.ts";
import { openApiValidator } from "../../support/openapi-check.ts";
import { DOCS_URL, memoryPorts } from "../../support/rest-app.ts";

const AT = Date.UTC(2026, 3, 15, 10, 20, 30, 45);
const HEAD = { id: newId("event"), tenantId: newId("tenant"), occurredAtMs: AT, recordedAtMs: AT };

const MESSAGE: MessageView = {
  ...{ id: newId("message"), mode: "live", status: "sent", to: "+2348031234567", from: "Acme" },
  ...{ body: "Hi", encoding: "gsm7", segments: 1, heldAmount: 45_000n, currency: "NGN" },
  ...{ unitPrice: 40_000n, amount: 40_000n, clientReference: "", campaignId: "", source: "api" },
  ...{ error: undefined, scheduledAtMs: 0, createdAtMs: AT, sentAtMs: AT, completedAtMs: 0 },
  ...{ updatedAtMs: AT, hasHold: true },
};
const WALLET: WalletView = {
  ...{ currency: "NGN", balance: 10n, held: 1n, available: 9n },
  ...{ lowBalanceThreshold: 5n, asOfMs: AT },
};
const SENDER_ID: SenderIdView = {
  ...{ id: newId("senderId"), name: "Acme", status: "approved", rejectionReason: "" },
  ...{ isUsable: true, createdAtMs: AT, updatedAtMs: AT },
};

const messages = MESSAGE_STATUSES.map(
  (status): DomainEvent => ({
    ...{ ...HEAD, kind: "message", previousStatus: "queued" },
    message: {
      ...MESSAGE,
      status,
      ...(status === "failed"
        ? {
            amount: undefined,
            unitPrice: undefined,
            sentAtMs: 0,
            error: { code: "no_route", message: "m" },
          }
        : {}),
    },
  }),
);
const wallets = ["funded", "low_balance"].map(
  (type): DomainEvent => ({
    ...HEAD,
    kind: "wallet",
    type,
    wallet: WALLET,
    amount: 5n,
    reference: "",
  }),
);
const reviews = ["approved", "rejected", "suspended", "reinstated"].map(
  (type): DomainEvent => ({ ...HEAD, kind: "sender_id", type, senderId: SENDER_ID }),
);

const CAMPAIGN: CampaignView = {
  ...{ id: newId("campaign"), mode: "live", name: "Spring", status: "paused", from: "Acme" },
  ...{ pauseReason: "customer", body: "Hi", sendAtMs: 0, ratePerSecond: 0, budget: 5n },
  ...{ quietHours: undefined, clientReference: "", currency: "NGN", heldAmount: 1n },
  progress: {
    ...{ total: 1, rejected: 0, waiting: 0, queued: 1, sent: 0, delivered: 0, undelivered: 0 },
    ...{ expired: 0, failed: 0, cancelled: 0 },
  },
  ...{ chargedAmount: 0n, createdAtMs: AT, startedAtMs: AT, endedAtMs: 0, updatedAtMs: AT },
};
const campaigns = ["started", "paused", "resumed", "completed", "cancelled", "failed"].map(
  (type): DomainEvent => ({
    ...{ ...HEAD, kind: "campaign", type },
    ...{ campaign: CAMPAIGN, previousStatus: "running" },
  }),
);

const inbound: DomainEvent = {
  ...{ ...HEAD, kind: "inbound" },
  message: {
    ...{ id: newId("inboundMessage"), from: "+2348031234567", to: "2442", body: "STOP" },
    ...{ encoding: "gsm7", parts: 1, partsReceived: 1, action: "opt_out", receivedAtMs: AT },
  },
};
const opts = ["opted_out", "opted_in"].map(
  (type): DomainEvent => ({
    ...{ ...HEAD, kind: "suppression", type, inboundMessageId: newId("inboundMessage") },
    suppression: {
      ...{ number: "+2348031234567", sender: "", source: "keyword", reason: "STOP" },
      createdAtMs: AT,
    },
  }),
);

/** Bodies by type, as the webhook service builds them. */
const SENT = new Map<string, unknown>([
  ...[...messages, ...wallets, ...reviews, ...campaigns, inbound, ...opts]
    .flatMap(webhookEventsOf)
    .map((event) => [event.type, JSON.parse(event.body())] as const),
  ["webhook.test", JSON.parse(eventBody({ ...HEAD, type: "webhook.test" }, testData()))],
]);

const document = buildOpenApi(createOperations(memoryPorts(), true), {
  baseUrl: "/",
  docsUrl: DOCS_URL,
});
const ajv = openApiValidator(document);

/** The path of every member of a value, in order; arrays and null end a path. */
function membersOf(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, inner]) => membersOf(inner, `${path}/${name}`));
}

describe("the events of the OpenAPI document", () => {
  it("are all that an endpoint may ask for", () => {
    expect(Object.keys(document.webhooks)).to.have.members([...EVENT_TYPES]);
    expect([...SENT.keys()]).to.have.members(Object.keys(document.webhooks));
  });

  it("have an operation id", () => {
    const ids = Object.values(document.webhooks).map(({ post }) => post.operationId);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids).to.include.members(["messageStatusChanged", "senderIdApproved", "webhookTest"]);
  });

  for (const [type, { post }] of Object.entries(document.webhooks)) {
    const { schema } = post.requestBody.content["application/json"];
    const name = String(schema.$ref).split("/").at(-1) ?? "";
    const example = EVENT_EXAMPLES.get(name)?.find(
      (one) => (one as { type: string }).type === type,
    );
    const wanted = JSON.parse(JSON.stringify(schema).replace("#/components", "doc#/components"));

    it(`${type}: the body sent and the example match the schema`, () => {
      // A type that is only announced has no example.
      expect(example === undefined).to.equal(type === "message.rejected");
      for (const body of [example ?? SENT.get(type), SENT.get(type)]) {
        expect(ajv.validate(wanted, body), ajv.errorsText()).to.equal(true);
        expect((body as { type: string }).type).to.equal(type);
      }
    });

    it(`${type}: the example has the members of the body sent, in order`, () => {
      const known = (value: unknown) =>
        membersOf(value).map((path) => path.replace(/\/error\/.*/, "/error"));
      expect([...new Set(known(example ?? SENT.get(type)))]).to.deep.equal([
        ...new Set(known(SENT.get(type))),
      ]);
    });
  }

  it("refuse a body of another type", () => {
    const { schema } =
      document.webhooks["message.sent" satisfies EventType].post.requestBody.content[
        "application/json"
      ];
    const wanted = JSON.parse(JSON.stringify(schema).replace("#/components", "doc#/components"));
    expect(ajv.validate(wanted, SENT.get("wallet.funded"))).to.equal(false);
  });
});
