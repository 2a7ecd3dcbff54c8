import { expect } from "chai";
import type { Message } from "../../../services/messaging/domain/message.ts";
import {
  countChanged,
  countNew,
  sumUsage,
  usageId,
} from "../../../services/messaging/domain/usage.ts";
import { lowestIdAt } from "../../../services/shared/core/ids.ts";

const AT = Date.UTC(2026, 10, 2, 9, 37, 12);

const message = (facts: Partial<Message>): Message =>
  ({
    id: lowestIdAt("message", AT),
    ...{ tenantId: "ten_1", mode: "live", country: "NG", from: "Acme", status: "queued" },
    ...{ segments: 2, amount: undefined },
    ...facts,
  }) as Message;

describe("counts of messages", () => {
  it("are kept by the quarter hour of the creation", () => {
    const [{ key } = { key: undefined }] = countNew([message({})]);
    expect(key?.atMs).to.equal(Date.UTC(2026, 10, 2, 9, 30));
    expect(key).to.include({ country: "NG", from: "Acme", keyId: "", campaignId: "" });
  });

  it("add messages of one key up, and keep others apart", () => {
    const counted = countNew([message({}), message({}), message({ keyId: "key_1" })]);
    expect(counted.map(({ messages, segments }) => [messages, segments])).to.deep.equal([
      [2, 4],
      [1, 2],
    ]);
    expect(new Set(counted.map(({ key }) => usageId(key))).size).to.equal(2);
  });

  it("of new messages are the same in any order, for every field of the key", () => {
    const late = { id: lowestIdAt("message", AT + 900_000) };
    const others: Partial<Message>[] = [
      ...[{ tenantId: "ten_2" }, { mode: "test" as const }, { country: "GH" }, { from: "Zeta" }],
      ...[{ keyId: "key_1" }, { campaignId: "cmp_1" }, { status: "rejected" as const }, late],
      ...[{ segments: 1, amount: 4n }, { country: undefined }],
    ];
    const apart = others.flatMap((one) => [message(one), message({}), message({}), message(one)]);
    const sorted = [...others.flatMap((one) => [message(one), message(one)])].concat(
      others.flatMap(() => [message({}), message({})]),
    );
    const wanted = sumUsage(apart.flatMap((one) => countNew([one])));
    expect(wanted.length).to.equal(others.length - 1);
    for (const order of [apart, sorted, apart.toReversed(), sorted.toReversed()]) {
      expect(countNew(order)).to.have.deep.members(wanted);
    }
    const counted = wanted.reduce((sum, { messages }) => sum + messages, 0);
    // Messages without a country are not counted.
    expect(counted).to.equal(apart.length - 2);
  });

  it("move with the status, with the charge", () => {
    const before = message({});
    const after = message({ status: "sent", amount: 8n });
    expect(countChanged([{ before, after }])).to.deep.equal([
      { ...countNew([before])[0], messages: -1, segments: -2 },
      { ...countNew([after])[0], amount: 8n },
    ]);
  });

  it("sum to the last status in any order of the changes", () => {
    const steps = [
      message({}),
      message({ status: "sent", amount: 8n }),
      message({ status: "undelivered", amount: 8n }),
      message({ status: "delivered", amount: 8n }),
    ];
    const [first, ...others] = steps;
    const changes = [
      ...countNew([first as Message]),
      ...others.flatMap((after, at) => countChanged([{ before: steps[at] as Message, after }])),
    ];
    const wanted = countNew([steps.at(-1) as Message]);
    expect(sumUsage(changes)).to.deep.equal(wanted);
    expect(sumUsage(changes.toReversed())).to.deep.equal(wanted);
  });

  it("have no part in a change of another field, or of a message that was never counted", () => {
    expect(countChanged([{ before: message({}), after: message({ phase: "sending" }) }])).to.be
      .empty;
    const old = { country: undefined };
    const change = { before: message(old), after: message({ ...old, status: "sent" }) };
    expect(countChanged([change])).to.be.empty;
    expect(countNew([message(old)])).to.be.empty;
  });
});
