import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  RecipientSchema,
  SendEndpoint,
  SendMessagesRequestSchema,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import {
  codeOf,
  keyed,
  makeTenant,
  singleSend,
  type TestTenant,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

type Keyed = Pick<ReturnType<typeof keyed>, "idempotencyKey" | "fingerprint">;

describe("idempotency keys", () => {
  const { harness, tenant } = openMessagingSuite({ replicas: 2 });

  const countOf = (reference: string) =>
    harness.db.collection("messages").countDocuments({ client_reference: reference });
  const heldOf = async (about: TestTenant) =>
    (await harness.wallets.getWallet({ tenantId: about.id })).wallet?.held;

  it("a repeat answers the first response again, marked as a replay, and sends nothing", async () => {
    const request = keyed(singleSend(tenant, { clientReference: "repeat" }), "repeat");
    const first = await harness.messaging.sendMessages(request);
    const second = await harness.messaging.sendMessages(request);
    expect(first.replayed).to.equal(false);
    expect(second).to.deep.equal({ ...first, replayed: true });
    expect(await countOf("repeat")).to.equal(1);
  });

  it("the same key with another body is refused", async () => {
    const request = keyed(singleSend(tenant), "reused");
    await harness.messaging.sendMessages(request);
    const other = keyed(singleSend(tenant, { body: "Another" }), "reused");
    expect(await codeOf(harness.messaging.sendMessages(other))).to.equal("idempotency_key_reused");
  });

  it("concurrent repeats get the stored response, also during a request with another body", async () => {
    const request = keyed(singleSend(tenant), "beside");
    const first = await harness.messaging.sendMessages(request);
    const other = keyed(singleSend(tenant, { body: "Another" }), "beside");
    const refused = codeOf(harness.messaging.sendMessages(other));
    const repeats = await Promise.all([1, 2, 3].map(() => harness.messaging.sendMessages(request)));
    expect(await refused).to.equal("idempotency_key_reused");
    for (const repeat of repeats) expect(repeat).to.deep.equal({ ...first, replayed: true });
  });

  it("a key has the form of customers' keys", async () => {
    for (const key of ["a:b", "x".repeat(65), "naïve"]) {
      const request = keyed(singleSend(tenant), key);
      expect(await codeOf(harness.messaging.sendMessages(request))).to.equal("validation_error");
    }
  });

  it("a call whose answer would be too long is refused before anything is sent", async () => {
    const list = (to: string, count: number) =>
      create(SendMessagesRequestSchema, {
        ...singleSend(tenant, { clientReference: "too-many" }),
        endpoint: SendEndpoint.BULK,
        recipients: Array.from({ length: count }, () => create(RecipientSchema, { to })),
      } as never);
    const many = Array.from({ length: 41 }, () => list("08031234567", 1000));
    expect(await codeOf(harness.messaging.sendMany({ requests: many }))).to.equal(
      "validation_error",
    );
    const long = list("8".repeat(5_000_000), 1);
    expect(await codeOf(harness.messaging.sendMessages(long))).to.equal("validation_error");
    expect(await countOf("too-many")).to.equal(0);
  });

  it("a key belongs to one endpoint and to one tenant", async () => {
    const request = keyed(singleSend(tenant), "scoped");
    const bulk = { ...request, endpoint: SendEndpoint.BULK };
    const other = await makeTenant(harness);
    const answers = [
      await harness.messaging.sendMessages(request),
      await harness.messaging.sendMessages(bulk),
      await harness.messaging.sendMessages({ ...request, tenantId: other.id }),
    ];
    expect(answers.map(({ replayed }) => replayed)).to.deep.equal([false, false, false]);
  });

  for (const fenced of [true, false]) {
    it(`fifty at once over two replicas have one effect, ${fenced ? "fenced" : "unfenced"} by the caller`, async () => {
      const spender = await makeTenant(harness);
      const reference = `fifty-${fenced}`;
      const request = {
        ...keyed(singleSend(spender, { clientReference: reference }), reference),
        fenced,
      };
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          harness.replicas[at % 2]?.sendMessages(request).then(
            (response) => response.message?.id ?? "",
            () => "refused",
          ),
        ),
      );
      const ids = new Set(outcomes.filter((outcome) => outcome !== "refused"));
      expect(ids.size).to.equal(1);
      expect(await countOf(reference)).to.equal(1);
      const again = await harness.messaging.sendMessages(request);
      expect(again.replayed).to.equal(true);
      expect([...ids]).to.deep.equal([again.message?.id]);
      await eventually(async () => (await heldOf(spender)) === 40_000n, {
        what: "the release of every loser's hold",
      });
    });
  }

  it("a concurrent repeat never gets insufficient_balance for the funds of its first request", async () => {
    const poor = await makeTenant(harness, { funds: 50_000n });
    const request = { ...keyed(singleSend(poor), "last-money"), fenced: false };
    const outcomes = await Promise.all(
      harness.replicas.map((replica) =>
        replica.sendMessages(request).then(
          ({ message }) => message?.id,
          (error: unknown) => codeOf(Promise.reject(error)),
        ),
      ),
    );
    expect(outcomes).to.not.include("insufficient_balance");
    expect(await heldOf(poor)).to.equal(40_000n);
  });

  it("a failed request leaves its key free", async () => {
    const broke = await makeTenant(harness, { funds: 0n });
    const request = keyed(singleSend(broke), "free-again");
    expect(await codeOf(harness.messaging.sendMessages(request))).to.equal("insufficient_balance");
    const other = keyed(singleSend(broke, { body: "Another" }), "free-again");
    expect(await codeOf(harness.messaging.sendMessages(other))).to.equal("insufficient_balance");
    await harness.wallets.fundWallet({ tenantId: broke.id, amount: 80_000n, reference: "late" });
    expect((await harness.messaging.sendMessages(other)).replayed).to.equal(false);
  });

  it("a key that has been kept for its time is free again", async () => {
    const request = keyed(singleSend(tenant, { clientReference: "old" }), "old");
    await harness.messaging.sendMessages(request);
    // The 24 hours begin when the request has finished, by any replica's clock.
    harness.clock.advance(86_400_001);
    expect((await harness.messaging.sendMessages(request)).replayed).to.equal(true);
    harness.clock.advance(60_000);
    const other = keyed(singleSend(tenant, { clientReference: "old", body: "New" }), "old");
    expect((await harness.messaging.sendMessages(other)).replayed).to.equal(false);
    expect((await harness.messaging.sendMessages(other)).replayed).to.equal(true);
    expect(await countOf("old")).to.equal(2);
  });

  const lookupOf = ({ idempotencyKey = "", fingerprint = new Uint8Array() }: Keyed) => ({
    tenantId: tenant.id,
    endpoint: SendEndpoint.SINGLE,
    idempotencyKey,
    fingerprint,
  });

  it("a lookup returns the stored response and changes nothing", async () => {
    const request = keyed(singleSend(tenant), "lookup");
    const key = lookupOf(request);
    expect((await harness.messaging.lookupSend(key)).response).to.equal(undefined);
    const first = await harness.messaging.sendMessages(request);
    const found = await harness.messaging.lookupSend(key);
    expect(found.response).to.deep.equal({ ...first, replayed: true });
    const other = { ...key, fingerprint: new Uint8Array(32) };
    expect(await codeOf(harness.messaging.lookupSend(other))).to.equal("idempotency_key_reused");
  });

  it("a lookup of a key that none can have is refused, of no key finds nothing, and neither closes one", async () => {
    const key = { ...lookupOf({ idempotencyKey: "of another form" }), beforeRefusal: true };
    expect(await codeOf(harness.messaging.lookupSend(key))).to.equal("validation_error");
    const none = await harness.messaging.lookupSend({ ...key, idempotencyKey: "" });
    expect(none.response).to.equal(undefined);
    expect(await harness.db.collection("sends").countDocuments({ idem: /\|$/ })).to.equal(0);
  });

  it("a lookup before a refusal answers the same, and leaves the key to the next request", async () => {
    const request = keyed(singleSend(tenant), "refused");
    const key = { ...lookupOf(request), beforeRefusal: true };
    expect((await harness.messaging.lookupSend(key)).response).to.equal(undefined);
    const other = keyed(singleSend(tenant, { body: "Corrected" }), "refused");
    const first = await harness.messaging.sendMessages(other);
    expect(first.replayed).to.equal(false);
    const found = await harness.messaging.lookupSend({ ...lookupOf(other), beforeRefusal: true });
    expect(found.response?.message).to.deep.equal(first.message);
    expect(await codeOf(harness.messaging.lookupSend(key))).to.equal("idempotency_key_reused");
  });

  it("a lookup before a refusal leaves the key to a request that is running under it", async () => {
    for (let round = 0; round < 10; round += 1) {
      const request = keyed(singleSend(tenant), `running-${round}`);
      const key = { ...lookupOf(request), beforeRefusal: true, fingerprint: new Uint8Array(32) };
      const sending = harness.messaging.sendMessages(request);
      for (let at = 0; at < 5; at += 1) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        await harness.messaging.lookupSend(key).catch(() => undefined);
      }
      expect((await sending).replayed).to.equal(false);
    }
  });

  it("a key closed by a replica whose clock is ahead blocks no later request", async () => {
    const request = keyed(singleSend(tenant), "closed-ahead");
    const key = { ...lookupOf(request), beforeRefusal: true };
    expect((await harness.messaging.lookupSend(key)).response).to.equal(undefined);
    harness.clock.advance(-1000);
    expect((await harness.messaging.lookupSend(key)).response).to.equal(undefined);
    expect((await harness.messaging.sendMessages(request)).replayed).to.equal(false);
    harness.clock.advance(1000);
  });

  it("a cancel's key belongs to that message's cancel", async () => {
    const sent = [
      await harness.messaging.sendMessages(singleSend(tenant)),
      await harness.messaging.sendMessages(singleSend(tenant)),
    ];
    const cancels = sent.map(({ message }) => ({
      tenantId: tenant.id,
      messageId: message?.id ?? "",
      idempotencyKey: "cancel",
      fingerprint: new Uint8Array(32),
      fenced: true,
    }));
    const first = await Promise.all(cancels.map((c) => harness.messaging.cancelMessage(c)));
    expect(first.map(({ replayed }) => replayed)).to.deep.equal([false, false]);
    const again = await Promise.all(cancels.map((c) => harness.messaging.cancelMessage(c)));
    expect(again).to.deep.equal(first.map((answer) => ({ ...answer, replayed: true })));
  });

  it("each mode has its own keys", async () => {
    const live = keyed(singleSend(tenant), "both-modes");
    const test = { ...live, mode: Mode.TEST };
    const first = await harness.messaging.sendMessages(live);
    const second = await harness.messaging.sendMessages(test);
    expect([first.replayed, second.replayed]).to.deep.equal([false, false]);
    expect((await harness.messaging.sendMessages(live)).message?.id).to.equal(first.message?.id);
    expect((await harness.messaging.sendMessages(test)).message?.id).to.equal(second.message?.id);
    for (const [mode, sent] of [
      [Mode.UNSPECIFIED, first],
      [Mode.LIVE, first],
      [Mode.TEST, second],
    ] as const) {
      const { response } = await harness.messaging.lookupSend({ ...lookupOf(live), mode });
      expect(response?.message?.id).to.equal(sent.message?.id);
    }
  });

  it("the other mode gets not_found for a message, with any stored response of its key", async () => {
    const { message } = await harness.messaging.sendMessages(singleSend(tenant));
    const cancel = {
      ...{ tenantId: tenant.id, messageId: message?.id ?? "", idempotencyKey: "modes" },
      ...{ fingerprint: new Uint8Array(32), fenced: true },
    };
    await harness.messaging.cancelMessage({ ...cancel, mode: Mode.LIVE });
    const other = harness.messaging.cancelMessage({ ...cancel, mode: Mode.TEST });
    expect(await codeOf(other)).to.equal("not_found");
    const lookup = { ...lookupOf(cancel), cancelMessageId: cancel.messageId };
    expect((await harness.messaging.lookupSend({ ...lookup, mode: Mode.LIVE })).response).to.exist;
    expect((await harness.messaging.lookupSend({ ...lookup, mode: Mode.TEST })).response).not.to
      .exist;
    const again = await harness.messaging.cancelMessage({ ...cancel, mode: Mode.LIVE });
    expect(again.replayed).to.equal(true);
  });

  it("a cancel that its caller gave up does not happen", async () => {
    const sent = await Promise.all(
      ["one", "two"].map(() => harness.messaging.sendMessages(singleSend(tenant))),
    );
    const [_id = "", next = ""] = sent.map(({ message }) => message?.id ?? "");
    const given = { tenantId: tenant.id, messageId: _id };
    const messages = harness.db.collection<{ _id: string; status: string; revision: number }>(
      "messages",
    );
    const aborted = async () => {
      const { transactions } = await harness.db.admin().serverStatus();
      return Number(transactions.totalAborted);
    };
    const before = await aborted();
    await harness.mongo.withSession(async (session) => {
      session.startTransaction();
      // While this transaction is open, every other change of the message is retried.
      await messages.updateOne({ _id }, { $inc: { revision: 1 } }, { session });
      const leave = new AbortController();
      const cancelled = codeOf(harness.messaging.cancelMessage(given, { signal: leave.signal }));
      await eventually(async () => (await aborted()) > before, {
        what: "a cancel that is stuck",
      });
      leave.abort();
      expect(await cancelled).to.not.equal("no error");
      // On the same connection, so that the service has read the reset before.
      await harness.messaging.getMessage(given);
      await session.abortTransaction();
    });
    // Messages left over from the first test come before this one.
    await harness.messaging.cancelMessage({ ...given, messageId: next });
    expect((await messages.findOne({ _id }))?.status).to.equal("queued");
    await harness.messaging.cancelMessage(given);
    expect((await messages.findOne({ _id }))?.status).to.equal("cancelled");
  });
});
