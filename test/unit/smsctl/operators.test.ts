import { expect } from "chai";
import { EntryKind } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { createOutput } from "../../../services/shared/cli/output.ts";
import { errorOf, refuse, run } from "../../support/smsctl-fakes.ts";

const OF = ["--tenant", "Ada"];

describe("smsctl message", () => {
  it("message list filters by number, sender, reference and campaign", async () => {
    const asked: unknown[] = [];
    const words = [
      ...["message", "list", ...OF, "--recipient", "0803 123 4567", "--sender", "Acme"],
      ...["--reference", "order-1", "--campaign", "cmp_1", "--source", "api,quick_send"],
    ];
    await run(words, {
      messaging: {
        listMessages({ to, from, clientReference, campaignId, sources }) {
          asked.push({ to, from, clientReference, campaignId, sources });
          return {};
        },
      },
    });
    expect(asked).to.deep.equal([
      {
        ...{ to: "+2348031234567", from: "Acme", clientReference: "order-1" },
        ...{ campaignId: "cmp_1", sources: [1, 3] },
      },
    ]);
  });

  for (const [words, sent] of [
    [[], { source: 1, mode: 1 }],
    [["--source", "quick_send"], { source: 3, mode: 1 }],
    [["--source", "test_send", "--mode", "test"], { source: 4, mode: 2 }],
  ] as const) {
    it(`message send ${words.join(" ")} sends one message from that source`, async () => {
      const asked: object[] = [];
      const send = ["message", "send", ...OF, "--to", "08031234567", "--from", "Acme"];
      const { result } = await run([...send, "--body", "Hi", ...words], {
        messaging: {
          sendMessages({ tenantId, source, mode, endpoint, from, body, recipients }) {
            asked.push({ tenantId, source, mode, endpoint, from, body, to: recipients[0]?.to });
            return { message: { id: "msg_1" } };
          },
        },
      });
      const one = { tenantId: "ten_1", endpoint: 1, from: "Acme", body: "Hi", to: "08031234567" };
      expect(asked).to.deep.equal([{ ...one, ...sent }]);
      expect(result).to.include({ id: "msg_1" });
    });
  }

  it("message send refuses a campaign's source", async () => {
    const words = ["message", "send", ...OF, "--to", "1", "--from", "A", "--body", "x"];
    const error = await errorOf(run([...words, "--source", "campaign"], {}));
    expect(error.code).to.equal("validation_error");
  });

  for (const [option, value] of [
    ["--recipient", "nobody"],
    ["--source", "1"],
    ["--source", "unspecified"],
    ["--sender", ""],
  ] as const) {
    it(`list refuses ${option} "${value}"`, async () => {
      const words = ["message", "list", ...OF, option, value];
      const error = await errorOf(run(words, {}));
      expect(error.code).to.equal("validation_error");
    });
  }

  it("message cancel takes several ids, lists the refused ones, and exits 4 for them", async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `msg_${at}`);
    let underWay = 0;
    let most = 0;
    const services = {
      messaging: {
        async cancelMessage({ messageId }: { messageId: string }) {
          underWay += 1;
          most = Math.max(most, underWay);
          await new Promise((resolve) => setImmediate(resolve));
          underWay -= 1;
          if (messageId === "msg_3") refuse("invalid_state_transition", "It is sent.");
          return { message: { id: messageId } };
        },
      },
    };
    const all = await run(["message", "cancel", ...ids, ...OF], services);
    expect(all.code).to.equal(4);
    const rows = all.results[0] as { id: string; status: string; error: string }[];
    expect(rows.map(({ id }) => id)).to.deep.equal(ids);
    expect(rows.filter(({ status }) => status === "cancelled")).to.have.length(19);
    expect(rows[3]).to.deep.equal({ id: "msg_3", status: "", error: "It is sent." });
    expect(most).to.be.within(2, 8);
    expect(all.notes).to.deep.equal(["1 of 20 messages were not cancelled."]);
    const one = await run(["message", "cancel", "msg_1", ...OF], services);
    expect([one.code, one.result.id]).to.deep.equal([0, "msg_1"]);
  });
});

describe("smsctl for those on call", () => {
  it("connector queues shows the waiting messages of each connector and their age", async () => {
    const { results } = await run(["connector", "queues"], {
      messaging: {
        getQueueStats: () => ({
          queues: [
            { connectorId: "smsc", waiting: 7n, sending: 2n, oldestWaitingMs: 61_499n },
            { connectorId: "", waiting: 1n, sending: 0n, oldestWaitingMs: 0n },
          ],
        }),
      },
    });
    expect(results[0]).to.deep.equal([
      { connector: "smsc", waiting: 7, sending: 2, oldest_waiting_seconds: 61 },
      { connector: null, waiting: 1, sending: 0, oldest_waiting_seconds: 0 },
    ]);
  });

  it("wallet reservation shows a hold", async () => {
    const words = ["wallet", "reservation", "rsv_1", ...OF];
    const { result } = await run(words, {
      wallets: {
        getReservation: ({ reservationId: id }) => ({
          reservation: { id, openAmount: 15_000n, createdAtMs: 1_800_000_000_000n },
        }),
      },
    });
    expect(result).to.include({
      ...{ id: "rsv_1", open_amount: "1.5000", created_at: "2027-01-15T08:00:00.000Z" },
    });
  });

  it("wallet entries of one kind that take too long say how to ask for less", async () => {
    const services = { wallets: { listEntries: () => refuse("service_unavailable", "Busy.") } };
    const entries = (...more: string[]) =>
      errorOf(run(["wallet", "entries", ...OF, ...more], services));
    expect((await entries("--kind", "fund")).message).to.match(/^Busy\. .*--since and --until/);
    expect((await entries()).message).to.equal("Busy.");
    for (const kind of ["1", "unspecified", "gift"]) {
      expect((await entries("--kind", kind)).code, kind).to.equal("validation_error");
    }
    expect(EntryKind[1]).to.equal("FUND");
  });

  it("dead replay exits 4 when fewer were replayed than were named", async () => {
    const services = (replayed: number) => ({
      webhooks: { replayDeadLetters: () => ({ replayed }) },
      wallets: { replayDeadLetters: () => ({ replayed: 0 }) },
      campaigns: { replayDeadLetters: () => ({ replayed: 0 }) },
    });
    const replay = (words: string[], replayed: number) =>
      run(["dead", "replay", ...words], services(replayed));
    expect((await replay(["a", "b"], 2)).code).to.equal(0);
    expect((await replay([], 0)).code).to.equal(0);
    const fewer = await replay(["a", "b"], 1);
    expect([fewer.code, fewer.result.replayed]).to.deep.equal([4, 1]);
    expect(fewer.notes[0]).to.include("1 of 2");
  });

  it("updates of nothing are refused before any request", async () => {
    for (const words of [
      ["tenant", "update", "Ada"],
      ["wallet", "update", ...OF],
    ]) {
      const error = await errorOf(run(words, {}));
      expect(error.message).to.include("Nothing is to be changed");
    }
  });

  for (const code of ["service_unavailable", "internal_error"] as const) {
    it(`webhook add: ${code} says that the endpoint may have been made`, async () => {
      const words = ["webhook", "add", ...OF, "--url", "https://example.com"];
      const services = { webhooks: { createEndpoint: () => refuse(code, "Lost.") } };
      const error = await errorOf(run(words, services));
      expect(error.code).to.equal(code);
      expect(error.message).to.include("may have been made");
    });
  }

  it("connector update gives a TON back to the library's rule, and takes all error codes away", async () => {
    let sent: { fields: string[]; connector?: { smpp?: object } } | undefined;
    const words = ["connector", "update", "c", "--source-ton", "default", "--error-codes", "none"];
    await run(words, {
      routing: {
        updateConnector(request) {
          sent = request as never;
          return {};
        },
      },
    });
    expect(sent?.fields).to.deep.equal(["smpp.source_ton", "smpp.error_codes"]);
    expect(sent?.connector?.smpp).to.include({ sourceTon: -1 });
  });

  it("route list shows people how many prices there are, and scripts all of them", async () => {
    const prices = [{ prefix: "234", price: 1n }];
    const hours = { enabledFromMinute: 450, enabledUntilMinute: 1320 };
    const services = {
      routing: { listRoutes: () => ({ routes: [{ id: "rte_1", prices, ...hours }] }) },
    };
    const listed = async (isJson: boolean) =>
      ((await run(["route", "list"], services, isJson)).results[0] as object[])[0];
    expect(await listed(false)).to.include({ id: "rte_1", prices: 1, hours: "07:30-22:00" });
    expect(await listed(true)).to.deep.include({ prices: [{ prefix: "234", price: "0.0001" }] });
  });

  it("a table has as many rows as there are", async function () {
    this.timeout(30_000);
    let written = 0;
    const sink = {
      write(text: string) {
        written += text.split("\n").length - 1;
      },
    };
    const style = { format: "table", isUtc: false, width: 80, isColoured: false } as const;
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id }));
    await createOutput("smsctl", style, sink, sink).list(rows, { columns: ["id"] });
    expect(written).to.equal(20_001);
  });
});
