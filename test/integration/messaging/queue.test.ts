import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { createClaimer } from "../../../services/messaging/app/claim.ts";
import { createPendingIndex } from "../../../services/messaging/app/pending-index.ts";
import { type MessageDocument, toDocument } from "../../../services/messaging/store/documents.ts";
import { createQueueStore } from "../../../services/messaging/store/queue.ts";
import { lowestIdAt } from "../../../services/shared/core/ids.ts";
import { messageIn, OPEN_GATE } from "../../support/messages.ts";
import {
  bulkSend,
  claim,
  codeOf,
  makeTenant,
  singleSend,
  type TestTenant,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const QUEUE_MAX = 3000;

describe("the queue", () => {
  let other: TestTenant;

  const { harness, tenant: giant } = openMessagingSuite({
    routes: { alpha: {}, full: { prefix: "44" } },
    settings: { QUEUE_MAX: String(QUEUE_MAX) },
  });
  before(async () => {
    other = await makeTenant(harness);
  });

  const bulk = (tenant: TestTenant, count: number, opening = "+2348030") =>
    harness.messaging.sendMessages(bulkSend(tenant, opening, count));

  it("hands out single sends before older bulk messages", async () => {
    await bulk(giant, 900);
    const { message } = await harness.messaging.sendMessages(singleSend(other));
    const first = await claim(harness, "alpha", 10);
    expect(first[0]?.messageId).to.equal(message?.id);
    expect(first).to.have.length(10);
  });

  it("shares the bulk queue by round robin, independent of the length of one tenant's queue", async () => {
    await bulk(other, 20);
    const claimed = await claim(harness, "alpha", 40);
    const mine = claimed.filter(({ tenantId }) => tenantId === other.id);
    expect(mine).to.have.length(20);
  });

  it("keeps each tenant's order", async () => {
    const claimed = await claim(harness, "alpha", 100);
    const ids = claimed.map(({ messageId }) => messageId);
    expect(ids).to.deep.equal([...ids].sort());
  });

  it("says whether more wait than were claimed", async () => {
    const ask = { connectorId: "alpha", carrierId: "carrier-1" };
    expect((await harness.messaging.claimMessages({ ...ask, max: 1 })).more).to.equal(true);
    const all = await harness.messaging.claimMessages({ ...ask, max: 1000 });
    expect(all.more).to.equal(false);
    expect(all.messages.length).to.be.greaterThan(100);
  });

  it("a new process reports more messages until it has scanned the whole queue", async function () {
    this.timeout(30_000);
    const small = await Promise.all(Array.from({ length: 40 }, () => makeTenant(harness)));
    for (const tenant of small) await bulk(tenant, 1);
    // Made last, so that its turn comes last.
    const long = await makeTenant(harness);
    await bulk(long, 500);
    const store = createQueueStore(harness.db);
    const pending = createPendingIndex(store, harness.clock);
    const claimer = createClaimer({ store, pending, quiet: OPEN_GATE, clock: harness.clock });
    let claimed = 0;
    for (let isMore = true; isMore; ) {
      const { messages, more } = await claimer.claim("alpha", "carrier-2", 100);
      claimed += messages.length;
      isMore = more;
    }
    expect(claimed).to.equal(540);
  });

  it("names the connectors at which messages wait, and not those that only send", async () => {
    const waiting = async () => (await harness.messaging.listWaitingConnectors({})).connectorIds;
    // A claim removes known messages that no longer wait; messages that the index named are removed later.
    const none = async () => {
      await claim(harness, "alpha");
      harness.clock.advance(1000);
      return (await waiting()).length === 0;
    };
    await eventually(none);
    await harness.messaging.sendMessages(singleSend(giant));
    expect(await waiting()).to.deep.equal(["alpha"]);
    await eventually(none);
  });

  it("carries test messages over the test connector only, for nothing", async () => {
    const { message } = await harness.messaging.sendMessages(
      singleSend(giant, { mode: Mode.TEST }),
    );
    expect(message?.heldAmount).to.equal(0n);
    expect(message?.reservationId).to.equal("");
    expect(await claim(harness, "alpha")).to.deep.equal([]);
    const claimed = await eventually(async () => (await claim(harness, "test"))[0]);
    expect(claimed).to.include({ messageId: message?.id, mode: Mode.TEST });
  });

  it("reports the length of each queue", async () => {
    await harness.messaging.sendMessages(singleSend(giant));
    const { queues } = await harness.messaging.getQueueStats({});
    const alpha = queues.find(({ connectorId }) => connectorId === "alpha");
    expect(alpha?.waiting).to.equal(1n);
    expect(alpha?.sending).to.equal(1462n);
  });

  it("refuses a claim that does not name a connector and a carrier properly", async () => {
    const ask = { connectorId: "alpha", carrierId: "carrier-1", max: 1 };
    for (const wrong of [{ connectorId: "a|b" }, { carrierId: "" }, { max: 0 }]) {
      const call = harness.messaging.claimMessages({ ...ask, ...wrong });
      expect(await codeOf(call)).to.equal("validation_error");
    }
  });

  it("refuses new messages of a full queue, and only of that one", async () => {
    for (let at = 0; at < 3; at += 1) await bulk(giant, 1000, `+447400${at}`);
    expect(await codeOf(bulk(other, 1, "+447400999"))).to.equal("service_unavailable");
    const single = singleSend(other, { recipients: [{ to: "+447400999999" }] });
    expect(await codeOf(harness.messaging.sendMessages(single))).to.equal("no error");
    expect(await codeOf(harness.messaging.sendMessages(singleSend(other)))).to.equal("no error");
    // A scheduled message is in no queue yet.
    const sendAtMs = BigInt(harness.clock.now() + 86_400_000);
    const later = { ...bulkSend(other, "+447400888", 1), sendAtMs };
    expect(await codeOf(harness.messaging.sendMessages(later))).to.equal("no error");
  });

  it("counts how long a message waits from the time for which it was scheduled", async () => {
    const nowMs = harness.clock.now();
    const of = { tenant_id: "ten_ages", queue: "ages|1" };
    const waiting = (createdMs: number, scheduledMs?: number) => ({
      ...toDocument(messageIn("waiting")),
      ...of,
      _id: lowestIdAt("message", createdMs),
      ...(scheduledMs === undefined ? {} : { scheduled_at: new Date(scheduledMs) }),
    });
    const messages = harness.db.collection<MessageDocument>("messages");
    await messages.insertMany([
      waiting(nowMs - 86_400_000, nowMs - 1000),
      waiting(nowMs - 600_000),
      waiting(nowMs - 5000),
    ]);
    const { queues } = await harness.messaging.getQueueStats({});
    await messages.deleteMany(of);
    const ages = queues.find(({ connectorId }) => connectorId === "ages");
    expect(Number(ages?.oldestWaitingMs)).to.be.within(600_000, 660_000);
  });
});
