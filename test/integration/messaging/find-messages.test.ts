/** Searches of operators across tenants. */
import { expect } from "chai";
import { INDEXES } from "../../../services/messaging/store/schema.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { makeTenant, singleSend, type TestTenant } from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { errorOf } from "../../support/smsctl-fakes.ts";

const TO = "+2348055550001";

describe("finding messages of every tenant", () => {
  const { harness, tenant } = openMessagingSuite();
  const others: TestTenant[] = [];
  const ids: string[] = [];

  before(async () => {
    others.push(await makeTenant(harness), await makeTenant(harness), await makeTenant(harness));
    for (const sender of [tenant, others[0], others[2]]) {
      if (sender === undefined) throw new Error("there are three tenants");
      for (const to of [TO, "+2348055550002", TO]) {
        const send = singleSend(sender, { recipients: [{ to }] });
        const { message } = await harness.messaging.sendMessages(send);
        if (to === TO) ids.push(message?.id ?? "");
      }
    }
  });

  const find = (wanted: Parameters<typeof harness.messaging.findMessages>[0]) =>
    harness.messaging.findMessages(wanted);

  it("finds a message of any tenant by its id, with its history", async () => {
    for (const messageId of ids) {
      const { messages } = await find({ messageId });
      expect(messages.map(({ id }) => id)).to.deep.equal([messageId]);
      expect(messages[0]?.history).to.have.length(1);
    }
    expect((await find({ messageId: newId("message") })).messages).to.deep.equal([]);
  });

  it("by their number, newest first of each tenant", async () => {
    const { messages, nextTenantId } = await find({ to: TO });
    expect(messages.map(({ id }) => id)).to.have.members(ids);
    expect(messages.every(({ to }) => to === TO)).to.equal(true);
    expect(nextTenantId).to.equal("");
    const one = await find({ to: TO, tenantId: tenant.id });
    expect(one.messages.map(({ id }) => id)).to.deep.equal([ids[1], ids[0]]);
    const newest = await find({ to: TO, limit: 1 });
    expect(newest.messages.map(({ id }) => id)).to.have.members([ids[1], ids[3], ids[5]]);
  });

  it("some tenants at a time, each once", async () => {
    const seen: string[] = [];
    let afterTenantId = "";
    let calls = 0;
    do {
      const page = await find({ to: TO, tenants: 1, afterTenantId });
      seen.push(...page.messages.map(({ id }) => id));
      afterTenantId = page.nextTenantId;
      calls += 1;
    } while (afterTenantId !== "");
    expect(seen).to.have.members(ids);
    expect(seen).to.have.length(ids.length);
    // The last call finds no tenant.
    expect(calls).to.be.at.least(4);
  });

  it("reads keys of the indexes and no more documents than it returns", async () => {
    const messages = harness.db.collection("messages");
    const seek = await messages
      .find({ tenant_id: { $gt: "" } }, { projection: { _id: 0, tenant_id: 1 } })
      .sort({ tenant_id: 1 })
      .limit(1)
      .hint(INDEXES.byKind)
      .explain("executionStats");
    expect(seek.executionStats).to.include({ totalKeysExamined: 1, totalDocsExamined: 0 });
  });

  it("is in the audit trail, with the number or the message, and not once per page", async () => {
    const trail = async () =>
      (await harness.messaging.listAuditRecords({ method: "FindMessages", limit: 1000 })).records;
    const before = (await trail()).length;
    await find({ to: TO, tenants: 1 });
    await find({ to: TO, tenants: 1, afterTenantId: tenant.id });
    await find({ messageId: ids[0] ?? "" });
    const added = (await trail()).slice(0, -before || undefined);
    expect(added.map(({ subject }) => subject)).to.deep.equal([ids[0], TO]);
  });

  it("refuses a search for nothing, for both, and bounds that are negative", async () => {
    const messageId = ids[0] ?? "";
    for (const wanted of [
      {},
      { messageId, to: TO },
      { to: TO, tenants: -1 },
      { to: TO, limit: -1 },
      { to: "1".repeat(33) },
    ]) {
      expect((await errorOf(find(wanted))).code).to.equal("validation_error");
    }
  });
});
