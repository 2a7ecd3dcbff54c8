import { expect } from "chai";
import { type DraftFacts, draftSend } from "../../../services/messaging/domain/build-messages.ts";
import {
  checkRecipientCount,
  checkRequest,
  type SendRequest,
} from "../../../services/messaging/domain/send-request.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { compileRouteTable } from "../../../services/shared/routes/route-table.ts";
import { NO_QUIET_HOURS, START_MS } from "../../support/messages.ts";

const route = (id: string, prefix: string, price: bigint) => ({
  id,
  name: id,
  connectorId: id,
  enabled: true,
  priority: 1,
  weight: 1,
  senderIds: [],
  plans: [],
  tenantIds: [],
  trafficClasses: [],
  prices: [{ prefix, price }],
  enabledFromMinute: 0,
  enabledUntilMinute: 0,
});

const FACTS: DraftFacts = {
  sender: "Acme",
  trafficClass: "transactional",
  isOptedOut: () => false,
  plan: "default",
  currency: "NGN",
  redact: false,
  table: compileRouteTable({
    version: 1n,
    routes: [route("cheap", "234", 10_000n), route("dear", "234", 30_000n)],
    connectors: ["cheap", "dear"].map((id) => ({ id, isActive: true, isTest: false })),
    unhealthyConnectorIds: [],
  }),
  nowMs: START_MS,
  queueMs: 1000,
  quietHours: NO_QUIET_HOURS,
  rejectsInQuietHours: false,
  random: () => 0.5,
};

const to = (...numbers: string[]) =>
  numbers.map((number) => ({ to: number, body: undefined, clientReference: undefined }));

function request(overrides: Partial<SendRequest> = {}): SendRequest {
  return {
    tenantId: "ten_1",
    mode: "live",
    source: "api",
    campaignId: undefined,
    endpoint: "single",
    key: undefined,
    fingerprint: new Uint8Array(),
    isLocked: true,
    from: "acme",
    body: "Hello",
    clientReference: undefined,
    sendAtMs: undefined,
    isCheckedAtGateway: false,
    recipients: to("08031234567"),
    ...overrides,
  };
}

function fieldsOf(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError && error.code === "validation_error") {
      return error.fields.map(({ field, code }) => `${field} ${code}`);
    }
    throw error;
  }
  return [];
}

const LONG_BODY = "x".repeat(153 * 10 + 1);

describe("drafting a send", () => {
  it("holds segments times the highest price among the routes that can carry it", () => {
    const draft = draftSend(request({ body: "x".repeat(161) }), FACTS);
    expect(draft.heldAmount).to.equal(60_000n);
    expect(draft.segments).to.equal(2);
    expect(draft.messages[0]).to.include({ heldAmount: 60_000n, segments: 2, status: "queued" });
  });

  it("a scheduled send is held too, and waits for its time", () => {
    const [message] = draftSend(request({ sendAtMs: START_MS + 90_000 }), FACTS).messages;
    expect(message).to.include({
      status: "scheduled",
      phase: undefined,
      heldAmount: 30_000n,
      dueAtMs: START_MS + 90_000,
      scheduledAtMs: START_MS + 90_000,
    });
  });

  it("test mode is the same but for its route and its price of zero", () => {
    const draft = draftSend(request({ mode: "test" }), FACTS);
    expect(draft.reservationId).to.equal(undefined);
    expect(draft.messages[0]?.routes.map(({ connectorId }) => connectorId)).to.deep.equal(["test"]);
    expect(draft.heldAmount).to.equal(0n);
  });

  it("the reservation has the send's own ULID", () => {
    const { sendId, reservationId } = draftSend(request(), FACTS);
    expect(reservationId?.slice(4)).to.equal(sendId.slice(4));
  });

  it("checks each recipient of a bulk send on its own, in submitted order", () => {
    const recipients = to(
      "08031234567",
      "nonsense",
      "+2348031234567",
      "+447400123456",
      "0803 765 4321",
    );
    const draft = draftSend(request({ endpoint: "bulk", recipients }), FACTS);
    expect(draft.messages.map((message) => message.error?.code ?? message.status)).to.deep.equal([
      "queued",
      "invalid_recipient",
      "duplicate_recipient",
      "destination_not_supported",
      "queued",
    ]);
    expect(draft.accepted).to.equal(2);
    expect(draft.heldAmount).to.equal(60_000n);
    const ids = draft.messages.map(({ id }) => id);
    expect(ids).to.deep.equal([...ids].sort());
  });

  it("rejected recipients are final, unpriced, and keep unparsed input", () => {
    const recipients = to("08031234567", "nonsense");
    const { messages } = draftSend(request({ endpoint: "bulk", recipients }), FACTS);
    expect(messages[1]).to.include({
      status: "rejected",
      to: "nonsense",
      heldAmount: 0n,
      reservationId: undefined,
      phase: undefined,
      dueAtMs: undefined,
    });
    expect(messages[1]?.completedAtMs).to.equal(messages[1]?.updatedAtMs);
  });

  it("a batch item whose body is too long is rejected on its own", () => {
    const recipients = [
      { to: "08031234567", body: LONG_BODY, clientReference: "a" },
      { to: "08037654321", body: "short", clientReference: undefined },
    ];
    const { messages } = draftSend(request({ endpoint: "batch", body: "", recipients }), FACTS);
    expect(messages.map(({ error }) => error?.code)).to.deep.equal(["body_too_long", undefined]);
    expect(messages.map(({ clientReference }) => clientReference)).to.deep.equal(["a", undefined]);
  });

  it("a route counts by the time of sending, and not by the time of acceptance", () => {
    const day = new Date(START_MS);
    const minute = day.getUTCHours() * 60 + day.getUTCMinutes();
    // Open from two hours from now on, for an hour.
    const hours = { enabledFromMinute: minute + 120, enabledUntilMinute: minute + 180 };
    const wrapped = Object.fromEntries(
      Object.entries(hours).map(([name, at]) => [name, at % (24 * 60)]),
    );
    const table = compileRouteTable({
      version: 1n,
      routes: [{ ...route("evening", "234", 1n), ...wrapped }],
      connectors: [{ id: "evening", isActive: true, isTest: false }],
      unhealthyConnectorIds: [],
    });
    const draftAt = (sendAtMs: number | undefined) =>
      fieldsOf(() => draftSend(request({ sendAtMs }), { ...FACTS, table }));
    expect(draftAt(undefined)).to.deep.equal(["to destination_not_supported"]);
    expect(draftAt(START_MS + 150 * 60_000)).to.deep.equal([]);
    expect(draftAt(START_MS + 200 * 60_000)).to.deep.equal(["to destination_not_supported"]);
  });

  it("the text of a rejected recipient is not kept where texts are redacted", () => {
    const bulk = request({ endpoint: "bulk", recipients: to("08031234567", "nonsense") });
    const bodiesOf = (redact: boolean) =>
      draftSend(bulk, { ...FACTS, redact }).messages.map(({ body }) => body);
    expect(bodiesOf(true)).to.deep.equal(["Hello", ""]);
    expect(bodiesOf(false)).to.deep.equal(["Hello", "Hello"]);
  });

  it("at most 1,600 characters of a rejected item's text, and 256 of its recipient, are kept", () => {
    const item = (body: string, to = "08031234567") => ({ to, body, clientReference: undefined });
    const recipients = [
      item("short"),
      item("x".repeat(1601), "08037654321"),
      item("😀".repeat(3000), "08037654322"),
      item("y".repeat(4_000_000), "9".repeat(300)),
      item("z".repeat(1600), "08031234567"),
    ];
    const { messages } = draftSend(request({ endpoint: "batch", body: "", recipients }), FACTS);
    expect(messages.map(({ body }) => body)).to.deep.equal([
      "short",
      "x".repeat(1600),
      "😀".repeat(1600),
      "y".repeat(1600),
      "z".repeat(1600),
    ]);
    expect(messages[3]?.to).to.equal("9".repeat(256));
    expect(messages[1]).to.include({ status: "rejected", segments: 11 });
  });

  it("test mode supports no more destinations than live mode", () => {
    const abroad = request({ mode: "test", recipients: to("+447400123456") });
    expect(fieldsOf(() => draftSend(abroad, FACTS))).to.deep.equal([
      "to destination_not_supported",
    ]);
  });

  it("an item with two errors reports the first", () => {
    const recipients = [
      { to: "+447400123456", body: LONG_BODY, clientReference: undefined },
      { to: "08037654321", body: "short", clientReference: undefined },
    ];
    const { messages } = draftSend(request({ endpoint: "batch", body: "", recipients }), FACTS);
    expect(messages[0]?.error?.code).to.equal("destination_not_supported");
  });

  it("names every recipient when none passes", () => {
    const bulk = request({ endpoint: "bulk", recipients: to("x", "+447400123456") });
    expect(fieldsOf(() => draftSend(bulk, FACTS))).to.deep.equal([
      "to[0] invalid_recipient",
      "to[1] destination_not_supported",
    ]);
    const recipients = [{ to: "08031234567", body: LONG_BODY, clientReference: undefined }];
    const batch = request({ endpoint: "batch", recipients });
    expect(fieldsOf(() => draftSend(batch, FACTS))).to.deep.equal([
      "messages[0].body body_too_long",
    ]);
    const single = request({ recipients: to("12") });
    expect(fieldsOf(() => draftSend(single, FACTS))).to.deep.equal(["to invalid_recipient"]);
  });

  it("single sends of the API have priority class single; campaigns and bulk sends do not", () => {
    const laneOf = (overrides: Partial<SendRequest>) =>
      draftSend(request(overrides), FACTS).messages[0]?.priority;
    expect(laneOf({})).to.equal("single");
    expect(laneOf({ source: "campaign" })).to.equal("bulk");
    expect(laneOf({ endpoint: "bulk" })).to.equal("bulk");
  });
});

describe("checking a request", () => {
  const check = (overrides: Partial<SendRequest>) =>
    fieldsOf(() => checkRequest(request(overrides), START_MS, 60_000));

  it("accepts a valid request", () => {
    expect(check({ clientReference: "order 1", sendAtMs: START_MS + 60_000 })).to.deep.equal([]);
  });

  const faults: readonly (readonly [string, Partial<SendRequest>, readonly string[]])[] = [
    ["a sender of two characters", { from: "ab" }, ["from invalid_format"]],
    ["a sender of twelve characters", { from: "abcdefghijkl" }, ["from invalid_format"]],
    ["an empty body", { body: "" }, ["body too_short"]],
    ["a body of eleven segments", { body: LONG_BODY }, ["body body_too_long"]],
    ["half a surrogate pair", { body: "a\ud800" }, ["body invalid_value"]],
    ["a reference of 65", { clientReference: "x".repeat(65) }, ["client_reference invalid_format"]],
    ["a reference with ü", { clientReference: "ü" }, ["client_reference invalid_format"]],
    ["a send time too soon", { sendAtMs: START_MS + 30_000 }, ["send_at out_of_range"]],
    [
      "a send time past 90 days",
      { sendAtMs: START_MS + 91 * 86_400_000 },
      ["send_at out_of_range"],
    ],
    ["a campaign without its id", { source: "campaign" }, ["campaign_id required"]],
    ["no recipient", { endpoint: "bulk", recipients: [] }, ["to too_few"]],
    ["two of a single send", { recipients: to("08031234567", "08037654321") }, ["to too_many"]],
    ["an endless tenant", { tenantId: "t".repeat(65) }, ["tenant_id too_long"]],
    ["an endless recipient", { recipients: to("1".repeat(257)) }, ["to too_long"]],
  ];
  const DAYS_90_MS = 90 * 86_400_000;
  for (const [aheadMs, isCheckedAtGateway, isTaken] of [
    [59_000, false, true],
    [58_999, false, false],
    [DAYS_90_MS, false, true],
    [DAYS_90_MS + 1, false, false],
    [55_000, true, true],
    [54_999, true, false],
    [DAYS_90_MS + 5000, true, true],
    [DAYS_90_MS + 5001, true, false],
  ] as const) {
    const whose = isCheckedAtGateway ? "that the gateway has checked" : "as its caller sent it";
    it(`${isTaken ? "takes" : "refuses"} a send ${aheadMs} ms ahead, ${whose}`, () => {
      const found = check({ sendAtMs: START_MS + aheadMs, isCheckedAtGateway });
      expect(found).to.deep.equal(isTaken ? [] : ["send_at out_of_range"]);
    });
  }

  it("counts a recipient's characters, not their halves", () => {
    expect(check({ recipients: to("😀".repeat(256)) })).to.deep.equal([]);
    expect(check({ recipients: to("😀".repeat(257)) })).to.deep.equal(["to too_long"]);
  });

  for (const [what, overrides, expected] of faults) {
    it(`names ${what}`, () => expect(check(overrides)).to.deep.equal(expected));
  }

  it("names all faults at once", () => {
    expect(check({ from: "", body: "", clientReference: "é" })).to.have.length(3);
  });

  it("holds each item of a batch to the same rules", () => {
    const recipients = [
      { to: "1", body: "ok", clientReference: undefined },
      { to: "2", body: "", clientReference: "ü" },
    ];
    expect(check({ endpoint: "batch", body: "", recipients })).to.deep.equal([
      "messages[1].body too_short",
      "messages[1].client_reference invalid_format",
    ]);
  });

  it("refuses more recipients than the tenant may name, 1,000 when it has no setting", () => {
    const many = request({ endpoint: "bulk", recipients: to(...Array(1001).fill("1")) });
    const thousand = request({ endpoint: "bulk", recipients: to(...Array(1000).fill("1")) });
    expect(fieldsOf(() => checkRecipientCount(thousand, 0))).to.deep.equal([]);
    expect(fieldsOf(() => checkRecipientCount(many, 0))).to.deep.equal(["to too_many"]);
    expect(fieldsOf(() => checkRecipientCount(many, 2000))).to.deep.equal([]);
  });
});
