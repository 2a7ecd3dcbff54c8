import { expect } from "chai";
import type { Document } from "mongodb";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  MessageSource,
  MessageStatus,
  OutcomeKind,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { INDEXES } from "../../../services/messaging/store/schema.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import {
  claim,
  makeTenant,
  report,
  singleSend,
  type TestTenant,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";

describe("listing messages", () => {
  let stranger: TestTenant;
  const campaignId = newId("campaign");
  let sentId = "";

  const { harness, tenant } = openMessagingSuite();
  before(async () => {
    stranger = await makeTenant(harness);
    await harness.senders.createSenderId({ tenantId: tenant.id, name: "Zeta", approve: true });
    sentId = (await harness.messaging.sendMessages(singleSend(tenant))).message?.id ?? "";
    const [claimed] = await claim(harness, "alpha");
    if (claimed !== undefined) await report(harness, claimed, OutcomeKind.ACCEPTED);
    const send = (overrides: Parameters<typeof singleSend>[1]) =>
      harness.messaging.sendMessages(singleSend(tenant, overrides));
    await send({ clientReference: "order-1" });
    await send({ from: "ZETA", recipients: [{ to: "+2348055555555" }] });
    await send({ source: MessageSource.CAMPAIGN, campaignId });
    await send({ mode: Mode.TEST, clientReference: "order-1" });
    await send({ source: MessageSource.QUICK_SEND });
    const numbers = Array.from({ length: 30 }, (_, at) => ({ to: `+234803000${1000 + at}` }));
    await send({ endpoint: SendEndpoint.BULK, recipients: [...numbers, { to: "nonsense" }] });
    await harness.messaging.sendMessages(singleSend(stranger, { clientReference: "order-1" }));
  });

  type Wanted = Parameters<typeof harness.messaging.listMessages>[0];
  const list = async (wanted: Wanted = {}) =>
    (
      await harness.messaging.listMessages({
        tenantId: tenant.id,
        mode: Mode.LIVE,
        limit: 100,
        ...wanted,
      })
    ).messages;

  it("shows the tenant's own messages of one mode, newest first, without history", async () => {
    const messages = await list();
    expect(messages).to.have.length(36);
    const ids = messages.map(({ id }) => id);
    expect(ids).to.deep.equal([...ids].sort().reverse());
    expect(new Set(messages.map(({ tenantId }) => tenantId))).to.deep.equal(new Set([tenant.id]));
    expect(messages.every(({ history }) => history.length === 0)).to.equal(true);
    expect(await list({ mode: Mode.TEST })).to.have.length(1);
  });

  const filters: readonly (readonly [string, () => Wanted, number])[] = [
    ["one status", () => ({ statuses: [MessageStatus.SENT] }), 1],
    ["several statuses", () => ({ statuses: [MessageStatus.SENT, MessageStatus.REJECTED] }), 2],
    ["a sender ID, whatever its case", () => ({ from: "zEtA" }), 1],
    ["a recipient", () => ({ to: "+2348055555555" }), 1],
    ["a reference", () => ({ clientReference: "order-1" }), 1],
    ["a campaign", () => ({ campaignId }), 1],
    ["a source", () => ({ sources: [MessageSource.QUICK_SEND] }), 1],
    ["two sources", () => ({ sources: [MessageSource.QUICK_SEND, MessageSource.CAMPAIGN] }), 2],
    ["status and sender", () => ({ statuses: [MessageStatus.QUEUED], from: "Acme" }), 33],
    ["recipient and sender", () => ({ to: "+2348031234567", from: "acme" }), 4],
    ["recipient and another sender", () => ({ to: "+2348031234567", from: "zeta" }), 0],
    ["sender and campaign", () => ({ from: "acme", campaignId }), 1],
    ["another sender and campaign", () => ({ from: "zeta", campaignId }), 0],
    ["recipient and status", () => ({ to: "+2348055555555", statuses: [MessageStatus.SENT] }), 0],
    [
      "what was made before now",
      () => ({ createdBeforeMs: BigInt(harness.clock.now() + 60_000) }),
      36,
    ],
    [
      "what was made after now",
      () => ({ createdAfterMs: BigInt(harness.clock.now() + 60_000) }),
      0,
    ],
  ];
  for (const [what, wanted, count] of filters) {
    it(`filters by ${what}`, async () => expect(await list(wanted())).to.have.length(count));
  }

  it("pages without gap or repeat while messages arrive", async () => {
    const whole = (await list()).map(({ id }) => id);
    const seen: string[] = [];
    let beforeId = "";
    for (;;) {
      const page = await harness.messaging.listMessages({
        tenantId: tenant.id,
        mode: Mode.LIVE,
        limit: 7,
        beforeId,
      });
      seen.push(...page.messages.map(({ id }) => id));
      await harness.messaging.sendMessages(singleSend(tenant));
      if (!page.hasMore) break;
      beforeId = seen.at(-1) ?? "";
    }
    expect(seen).to.deep.equal(whole);
  });

  it("says that more follow exactly when they do", async () => {
    const wanted = { tenantId: tenant.id, to: "+2348031234567", sources: [MessageSource.CAMPAIGN] };
    expect((await harness.messaging.listMessages({ ...wanted, limit: 1 })).hasMore).to.equal(false);
    const many = { tenantId: tenant.id, mode: Mode.LIVE, limit: 30 };
    expect((await harness.messaging.listMessages(many)).hasMore).to.equal(true);
  });

  it("shows the carrying route of a sent message to operators", async () => {
    const [sent] = await list({ statuses: [MessageStatus.SENT] });
    expect(sent?.id).to.equal(sentId);
    expect(sent?.connectorId).to.equal("alpha");
  });

  it("the tenants of a queue are found by one seek each, not by reading the queue", async () => {
    const plan = await harness.db.command({
      explain: { distinct: "messages", key: "tenant_id", query: { queue: "alpha|2" } },
      verbosity: "queryPlanner",
    });
    const stages = stagesOf(plan.queryPlanner.winningPlan);
    expect(stages.map(({ stage }) => stage)).to.include("DISTINCT_SCAN");
  });

  it("looks up concurrent idempotency keys through their index", async () => {
    const plan = await harness.db
      .collection("sends")
      .find({ idem: { $in: ["a", "b", "c"] } })
      .explain("queryPlanner");
    const stages = stagesOf((plan as Document).queryPlanner.winningPlan);
    expect(stages.map(({ indexName }) => indexName)).to.include(INDEXES.idempotency);
  });

  it("the length of a queue is counted on its index alone", async () => {
    const plan = await harness.db.command({
      explain: { count: "messages", query: { queue: "alpha|2" }, hint: INDEXES.queue, limit: 5 },
      verbosity: "queryPlanner",
    });
    const stages = stagesOf(plan.queryPlanner.winningPlan).map(({ stage }) => stage);
    expect(stages).to.include("COUNT_SCAN");
    expect(stages).to.not.include("FETCH");
  });
});

/** Every stage of a plan, the inner ones included. */
function stagesOf(stage: Document): Document[] {
  const inner = [stage.inputStage, ...(stage.inputStages ?? [])].filter(Boolean);
  return [stage, ...inner.flatMap(stagesOf)];
}
