import { expect } from "chai";
import {
  MessageStatus,
  OutcomeKind,
  ReceiptState,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import {
  breachesOf,
  claim,
  claimOne,
  report,
  show,
  singleSend,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const LEASE_MS = 1000;
const UNKNOWN_MS = 2000;

describe("reports of carriers", () => {
  const { harness, tenant } = openMessagingSuite({
    routes: { alpha: {}, beta: { priority: 2, price: 30_000n } },
    settings: {
      CLAIM_LEASE_MS: String(LEASE_MS),
      SUBMISSION_UNKNOWN_WAIT_MS: String(UNKNOWN_MS),
      SCHEDULER_INTERVAL_MS: "50",
    },
  });

  async function send(): Promise<string> {
    return (await harness.messaging.sendMessages(singleSend(tenant))).message?.id ?? "";
  }
  const statusOf = async (id: string) => (await show(harness, tenant, id)).status;
  const settledAt = async (id: string) =>
    eventually(async () => {
      const message = await show(harness, tenant, id);
      return message.completedAtMs > 0n && message;
    });

  it("a refusal for good moves the message to the next route, which charges its own price", async () => {
    const id = await send();
    expect(await report(harness, await claimOne(harness, "alpha"), OutcomeKind.REFUSED)).to.be
      .empty;
    const again = await claimOne(harness, "beta");
    expect(again.messageId).to.equal(id);
    await report(harness, again, OutcomeKind.ACCEPTED);
    const message = await show(harness, tenant, id);
    expect(message).to.include({
      status: MessageStatus.SENT,
      connectorId: "beta",
      amount: 30_000n,
    });
  });

  it("a message that every route refuses has failed, uncharged, with the last carrier's code", async () => {
    const id = await send();
    await report(harness, await claimOne(harness, "alpha"), OutcomeKind.REFUSED);
    await report(harness, await claimOne(harness, "beta"), OutcomeKind.REFUSED, {
      carrierCode: "0x0000000B",
    });
    const message = await show(harness, tenant, id);
    expect(message.status).to.equal(MessageStatus.FAILED);
    expect(message.error?.code).to.equal("carrier_rejected");
    expect(message.carrierCode).to.equal("0x0000000B");
    expect(message.amount).to.equal(undefined);
  });

  for (const [what, errorCode, attempt] of [
    ["was throttled", "", 0],
    ["met a system error", "carrier_unavailable", 1],
  ] as const) {
    it(`a message that ${what} waits until its retry time; then ${attempt} of its budget is spent`, async () => {
      const id = await send();
      const said = { retryAtMs: BigInt(harness.clock.now() + 30_000), errorCode };
      await report(harness, await claimOne(harness, "alpha"), OutcomeKind.NOT_SENT, said);
      expect(await claim(harness, "alpha")).to.deep.equal([]);
      harness.clock.advance(30_001);
      const again = await claimOne(harness, "alpha");
      expect(again).to.include({ messageId: id, attempt });
      await report(harness, again, OutcomeKind.ACCEPTED);
    });
  }

  it("an outcome under a claim that is over is stale", async () => {
    await send();
    const first = await claimOne(harness, "alpha");
    await report(harness, first, OutcomeKind.NOT_SENT);
    const next = await claimOne(harness, "alpha");
    expect(await report(harness, first, OutcomeKind.ACCEPTED)).to.deep.equal([first.messageId]);
    expect(await statusOf(first.messageId)).to.equal(MessageStatus.QUEUED);
    expect(await report(harness, next, OutcomeKind.ACCEPTED)).to.deep.equal([]);
  });

  it("an outcome and a receipt that come together are both applied", async () => {
    const id = await send();
    const claimed = await claimOne(harness, "alpha");
    await Promise.all([
      report(harness, claimed, OutcomeKind.ACCEPTED),
      harness.messaging.recordReceipts({
        receipts: [{ messageId: id, segment: 1, state: ReceiptState.DELIVERED }],
      }),
    ]);
    expect(await statusOf(id)).to.equal(MessageStatus.DELIVERED);
  });

  it("a part that is delivered while others are being submitted makes nothing sent", async () => {
    const body = "a".repeat(200);
    const id = (await harness.messaging.sendMessages({ ...singleSend(tenant), body })).message?.id;
    const claimed = await claimOne(harness, "alpha");
    const delivered = (segment: number) =>
      harness.messaging.recordReceipts({
        receipts: [{ messageId: claimed.messageId, segment, state: ReceiptState.DELIVERED }],
      });
    await delivered(1);
    expect(await statusOf(id ?? "")).to.equal(MessageStatus.QUEUED);
    await report(harness, claimed, OutcomeKind.ACCEPTED);
    expect(await statusOf(id ?? "")).to.equal(MessageStatus.SENT);
    await delivered(2);
    expect(await statusOf(id ?? "")).to.equal(MessageStatus.DELIVERED);
  });

  it("an unanswered submit is never claimed again and fails, uncharged, when its wait is over", async () => {
    const id = await send();
    await report(harness, await claimOne(harness, "alpha"), OutcomeKind.UNKNOWN);
    expect(await claim(harness, "alpha")).to.deep.equal([]);
    harness.clock.advance(UNKNOWN_MS);
    const message = await settledAt(id);
    expect(message.status).to.equal(MessageStatus.FAILED);
    expect(message.error?.code).to.equal("submission_unknown");
    expect(message.amount).to.equal(undefined);
  });

  it("a receipt resolves an unanswered submit: sent, then delivered", async () => {
    const id = await send();
    await report(harness, await claimOne(harness, "alpha"), OutcomeKind.UNKNOWN);
    await harness.messaging.recordReceipts({
      receipts: [{ messageId: id, segment: 1, state: ReceiptState.DELIVERED }],
    });
    const message = await show(harness, tenant, id);
    expect(message.history.map(({ status }) => status)).to.deep.equal([
      MessageStatus.QUEUED,
      MessageStatus.SENT,
      MessageStatus.DELIVERED,
    ]);
    expect(message.amount).to.equal(40_000n);
  });

  it("receipts for messages that do not exist are named", async () => {
    const messageId = "msg_00000000000000000000000000";
    const receipts = [{ messageId, state: ReceiptState.DELIVERED }];
    const { unknownMessageIds } = await harness.messaging.recordReceipts({ receipts });
    expect(unknownMessageIds).to.deep.equal([messageId]);
  });

  it("returns messages that a restarted carrier never wrote to their queue, and marks the others unknown", async () => {
    const ids = [await send(), await send(), await send()];
    const claimed = await eventually(async () => {
      const found = await claim(harness, "alpha", 3, "phoenix");
      return found.length === 3 && found;
    });
    const written = claimed[1]?.messageId ?? "";
    const recovered = await harness.messaging.recoverClaims({
      carrierId: "phoenix",
      writtenMessageIds: [written],
    });
    expect(recovered).to.include({ givenBack: 2, inDoubt: 1 });
    const again = await claim(harness, "alpha");
    expect(again.map(({ messageId }) => messageId).sort()).to.deep.equal(
      ids.filter((id) => id !== written),
    );
    for (const message of again) await report(harness, message, OutcomeKind.ACCEPTED);
  });

  it("returns the texts of partly written messages, and says when a receipt has proved one", async () => {
    const ids = [await send(), await send()];
    const claimed = await eventually(async () => {
      const found = await claim(harness, "alpha", 2, "partly");
      return found.length === 2 && found;
    });
    const recover = async () => {
      const { partlyWritten } = await harness.messaging.recoverClaims({
        carrierId: "partly",
        writtenMessageIds: ids,
        partlyWrittenMessageIds: [...ids, "msg_00000000000000000000000000"],
      });
      return partlyWritten;
    };
    const found = await recover();
    expect(
      found.map(({ messageId, body, claimId }) => [messageId, body, claimId]).toSorted(),
    ).to.deep.equal(
      claimed.map(({ messageId, body, claimId }) => [messageId, body, claimId]).toSorted(),
    );
    const unknown = (isIncomplete: boolean) =>
      claimed.map(({ messageId, claimId }) => ({
        ...{ messageId, claimId, kind: OutcomeKind.UNKNOWN, isIncomplete },
      }));
    const proven = async (isIncomplete = false) =>
      (await harness.messaging.reportOutcomes({ outcomes: unknown(isIncomplete) }))
        .provenMessageIds;
    expect(await proven()).to.deep.equal([]);
    const [first = ""] = ids;
    const receipts = [{ messageId: first, state: ReceiptState.ACKNOWLEDGED }];
    await harness.messaging.recordReceipts({ receipts });
    expect(await proven()).to.deep.equal([first]);
    expect((await recover()).length).to.equal(2);
    expect(await proven(true)).to.deep.equal([]);
    expect(await recover()).to.deep.equal([]);
  });

  it("a late or repeated recovery call of a restarted carrier takes no claims of its next process", async () => {
    await send();
    const named = async (claimCall: string) => {
      const wanted = { connectorId: "alpha", carrierId: "lazarus", max: 1, claimCall };
      return await eventually(
        async () => (await harness.messaging.claimMessages(wanted)).messages[0],
      );
    };
    await named("r00000001aa.3");
    const recovery = { carrierId: "lazarus", epoch: "r00000002bb" };
    expect(await harness.messaging.recoverClaims(recovery)).to.include({ givenBack: 1 });
    const second = await named("r00000002bb.1");
    const nothing = { givenBack: 0, inDoubt: 0 };
    expect(await harness.messaging.recoverClaims(recovery)).to.include(nothing);
    expect(await harness.messaging.recoverClaims({ ...recovery, epoch: "r00000001aa" })).to.include(
      nothing,
    );
    const renewal = { carrierId: "lazarus", listsHeld: true, endedClaimCalls: "r00000001aa.9" };
    await harness.messaging.renewClaims(renewal);
    expect(await claim(harness, "alpha"), "nothing went back").to.deep.equal([]);
    expect(await report(harness, second, OutcomeKind.ACCEPTED)).to.deep.equal([]);
  });

  it("a living carrier's claims whose answer was lost go back to the queue", async () => {
    await send();
    await send();
    const lost = await eventually(async () => {
      const found = await claim(harness, "alpha", 2, "deaf");
      return found.length === 2 && found;
    });
    const [held, unheard] = lost.map(({ messageId }) => messageId);
    const renewal = { carrierId: "deaf", heldMessageIds: [held ?? ""], listsHeld: true };
    await harness.messaging.renewClaims(renewal);
    expect(await claim(harness, "alpha"), "claims younger than the lease stay").to.be.empty;
    harness.clock.advance(LEASE_MS + 1);
    await harness.messaging.renewClaims(renewal);
    const again = await claimOne(harness, "alpha");
    expect(again.messageId).to.equal(unheard);
    await report(harness, again, OutcomeKind.ACCEPTED);
    await report(harness, lost[0] as never, OutcomeKind.ACCEPTED);
  });

  it("a late heartbeat returns no messages that were claimed since", async () => {
    await send();
    const named = { connectorId: "alpha", carrierId: "paused", max: 1, claimCall: "ab.2" };
    const claimed = await eventually(async () => {
      const { messages } = await harness.messaging.claimMessages(named);
      return messages[0];
    });
    const renewal = { carrierId: "paused", heldMessageIds: [], listsHeld: true };
    // In halves: a carrier unheard for a whole lease would be taken for dead.
    for (let half = 0; half < 3; half += 1) {
      harness.clock.advance(LEASE_MS / 2);
      await harness.messaging.renewClaims({ ...renewal, endedClaimCalls: "ab.1" });
    }
    expect(await claim(harness, "alpha"), "its call had not ended").to.be.empty;
    await harness.messaging.renewClaims({ ...renewal, endedClaimCalls: "ab.2" });
    const again = await claimOne(harness, "alpha");
    expect(again.messageId).to.equal(claimed.messageId);
    await report(harness, again, OutcomeKind.ACCEPTED);
  });

  it("messages of a silent carrier become unknown and are never submitted again", async () => {
    const id = await send();
    await eventually(async () => (await claim(harness, "alpha", 1, "mute"))[0]);
    harness.clock.advance(LEASE_MS + 1);
    const inDoubt = () => harness.db.collection("messages").findOne({ _id: id as never });
    await eventually(async () => (await inDoubt())?.phase === "unknown");
    expect(await claim(harness, "alpha")).to.deep.equal([]);
    harness.clock.advance(UNKNOWN_MS);
    expect((await settledAt(id)).error?.code).to.equal("submission_unknown");
  });

  it("leaves no breach behind", async () => {
    expect(await breachesOf(harness)).to.deep.equal([]);
  });
});
