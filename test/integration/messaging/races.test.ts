import { expect } from "chai";
import { MessageStatus, OutcomeKind } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { breachesOf, bulkSend, codeOf, singleSend } from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

const TRIES = 1000;
const AT_ONCE = 50;

describe("races between replicas", () => {
  const { harness, tenant } = openMessagingSuite({
    replicas: 2,
    routes: { alpha: {}, beta: { prefix: "44" } },
  });

  it("another replica hands out at once the messages that one replica puts into a queue or returns to it", async () => {
    const [first = harness.messaging, second = harness.messaging] = harness.replicas;
    const claimAt = (replica: typeof first) =>
      eventually(
        async () =>
          (await replica.claimMessages({ connectorId: "alpha", carrierId: "c", max: 1 }))
            .messages[0],
        // A look at the whole queue, every five seconds, would find one of these in time, not all.
        { timeoutMs: 4000, what: "a message that the other replica put in" },
      );
    /** A look that finds nothing: the replica knows of nothing that waits. */
    const forget = async (replica: typeof first) => {
      const { messages } = await replica.claimMessages({
        connectorId: "alpha",
        carrierId: "c",
        max: 1,
      });
      expect(messages).to.deep.equal([]);
    };
    for (let round = 0; round < 4; round += 1) {
      await forget(second);
      const sent = await first.sendMessages(singleSend(tenant));
      const claimed = await claimAt(second);
      expect(claimed.messageId).to.equal(sent.message?.id);
      await forget(first);
      const { messageId, claimId } = claimed;
      const back = { messageId, claimId, kind: OutcomeKind.NOT_SENT, carrierCode: "throttled" };
      await second.reportOutcomes({ outcomes: [back] });
      const again = await claimAt(first);
      expect(again.messageId).to.equal(messageId);
      const accepted = { ...back, claimId: again.claimId, kind: OutcomeKind.ACCEPTED };
      await first.reportOutcomes({ outcomes: [accepted] });
    }
  });

  it(`of a cancel and a claim exactly one wins, ${TRIES} times`, async function () {
    this.timeout(120_000);
    for (let round = 0; round < TRIES / AT_ONCE; round += 1) {
      const { entries } = await harness.messaging.sendMessages(bulkSend(tenant, "0803", AT_ONCE));
      const ids = entries.map(({ id }) => id);
      const claiming = Promise.all(
        harness.replicas.map((replica, at) =>
          replica.claimMessages({ connectorId: "alpha", carrierId: `c${at}`, max: AT_ONCE }),
        ),
      );
      const cancels = await Promise.all(
        ids.map((messageId, at) =>
          codeOf(
            harness.replicas[at % 2]?.cancelMessage({ tenantId: tenant.id, messageId }) ??
              Promise.reject(new Error("no replica")),
          ),
        ),
      );
      const claimed = (await claiming).flatMap(({ messages }) => messages);
      const claimedIds = claimed.map(({ messageId }) => messageId);
      expect(new Set(claimedIds).size).to.equal(claimedIds.length);
      ids.forEach((id, at) => {
        const expected = claimedIds.includes(id) ? "invalid_state_transition" : "no error";
        expect(cancels[at]).to.equal(expected);
      });
      await harness.messaging.reportOutcomes({
        outcomes: claimed.map(({ messageId, claimId }) => ({
          messageId,
          claimId,
          kind: OutcomeKind.ACCEPTED,
        })),
      });
    }
    expect(await breachesOf(harness)).to.deep.equal([]);
  });

  it("no message is claimed twice by carriers that claim from both replicas at once", async () => {
    await harness.messaging.sendMessages(bulkSend(tenant, "+4474001", 600));
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        harness.replicas[at % 2]?.claimMessages({
          connectorId: "beta",
          carrierId: `c${at}`,
          max: 100,
        }),
      ),
    );
    const ids = claims.flatMap((claim) => claim?.messages.map(({ messageId }) => messageId) ?? []);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids.length).to.be.greaterThan(100);
  });

  it("applies an outcome once that both replicas receive at the same time", async () => {
    const { message } = await harness.messaging.sendMessages(singleSend(tenant));
    const id = message?.id ?? "";
    const [claimed] = (
      await harness.messaging.claimMessages({ connectorId: "alpha", carrierId: "c", max: 10 })
    ).messages;
    const outcomes = [
      { messageId: id, claimId: claimed?.claimId ?? "", kind: OutcomeKind.ACCEPTED },
    ];
    await Promise.all(harness.replicas.map((replica) => replica.reportOutcomes({ outcomes })));
    const got = await harness.messaging.getMessage({ tenantId: tenant.id, messageId: id });
    expect(got.message?.history.map(({ status }) => status)).to.deep.equal([
      MessageStatus.QUEUED,
      MessageStatus.SENT,
    ]);
  });
});
