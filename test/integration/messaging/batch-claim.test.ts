import { expect } from "chai";
import type { ClaimMessagesResponse } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { createMessagingClient } from "../../../services/carrier/adapters/messaging-client.ts";
import { bulkSend, codeOf } from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";

/** Connectors, and how the numbers begin that only they carry. */
const CONNECTORS = { alpha: "+234803", beta: "+44740", gamma: "+4915" } as const;
type Name = keyof typeof CONNECTORS;
const NAMES = Object.keys(CONNECTORS) as Name[];

describe("claims of several connectors in one call", () => {
  const { harness, tenant } = openMessagingSuite({
    routes: { alpha: {}, beta: { prefix: "44" }, gamma: { prefix: "49" } },
  });

  const bulk = (name: Name, count: number) => bulkSend(tenant, CONNECTORS[name], count);
  const send = async (name: Name, count: number) =>
    (await harness.messaging.sendMessages(bulk(name, count))).entries.map(({ id }) => id);
  const ask = (connectorId: string, max = 1000) => ({ connectorId, carrierId: "carrier-1", max });
  const claimMany = async (claims: ReturnType<typeof ask>[]) =>
    (await harness.messaging.claimMany({ claims })).results.map(({ result }) => result);
  const idsOf = (answer: unknown) =>
    (answer as ClaimMessagesResponse).messages.map(({ messageId }) => messageId).sort();

  it("each gets the messages of its connector, and one that is refused fails alone", async () => {
    const sent = { alpha: await send("alpha", 3), beta: await send("beta", 5) };
    const results = await claimMany([ask("alpha"), ask("NO NAME"), ask("beta"), ask("gamma")]);
    expect(results.map((one) => one.case)).to.deep.equal([
      "response",
      "failure",
      "response",
      "response",
    ]);
    expect(idsOf(results[0]?.value)).to.deep.equal([...sent.alpha].sort());
    expect(results[1]?.value).to.equal("validation_error");
    expect(idsOf(results[2]?.value)).to.deep.equal([...sent.beta].sort());
    expect(idsOf(results[3]?.value)).to.deep.equal([]);
  });

  it("two of one connector share its messages and never one of them", async () => {
    const sent = await send("gamma", 10);
    const results = await claimMany([ask("gamma", 6), ask("gamma", 6)]);
    const [first = [], second = []] = results.map(({ value }) => idsOf(value));
    expect([first.length, second.length].sort()).to.deep.equal([4, 6]);
    expect([...first, ...second].sort()).to.deep.equal([...sent].sort());
  });

  it("together they bring no more than one claim may, and say that more waits", async () => {
    const sent = await Promise.all([send("alpha", 700), send("beta", 700)]);
    const ids: string[] = [];
    const results = await claimMany([ask("alpha"), ask("beta")]);
    for (const { value } of results) {
      expect((value as ClaimMessagesResponse).more).to.equal(true);
      expect(idsOf(value).length).to.equal(500);
      ids.push(...idsOf(value));
    }
    for (const { value } of await claimMany([ask("alpha"), ask("beta")])) ids.push(...idsOf(value));
    expect(ids.sort()).to.deep.equal(sent.flat().sort());
  });

  it("claims return no cancelled message; each message is claimed by one carrier or cancelled", async () => {
    for (let round = 0; round < 5; round += 1) {
      const sent = (await Promise.all(NAMES.map((name) => send(name, 12)))).flat();
      const claiming = claimMany(NAMES.map((name) => ask(name)));
      const cancelled = await Promise.all(
        sent.map(async (messageId) => {
          const call = harness.messaging.cancelMessage({ tenantId: tenant.id, messageId });
          return (await codeOf(call)) === "no error" ? [messageId] : [];
        }),
      );
      const claimed = (await claiming).flatMap(({ value }) => idsOf(value));
      expect([...claimed, ...cancelled.flat()].sort()).to.deep.equal([...sent].sort());
    }
  });

  it("refuses more claims than a call may hold", async () => {
    const call = harness.messaging.claimMany({ claims: new Array(257).fill(ask("alpha")) });
    expect(await codeOf(call)).to.equal("validation_error");
  });

  it("a carrier claims for all its connectors in one call", async () => {
    let counted = 0;
    const client = {
      ...harness.messaging,
      claimMany: ((...args) => {
        counted += 1;
        return harness.messaging.claimMany(...args);
      }) as typeof harness.messaging.claimMany,
    };
    const port = createMessagingClient(client, { carrierId: "carrier-2", start: 1 });
    const sent = await Promise.all(NAMES.map((name) => send(name, 2)));
    const answers = await Promise.all(NAMES.map((name) => port.claim(name, () => 10)));
    const claimed = answers.map(({ messages }) => messages.map(({ messageId }) => messageId));
    expect(claimed.map((ids) => [...ids].sort())).to.deep.equal(sent.map((ids) => [...ids].sort()));
    expect(counted).to.equal(1);
    const wrong = await port.claim("NO NAME", () => 10).catch((error: Error) => error);
    expect(wrong).to.include({ code: "validation_error" });
  });
});
