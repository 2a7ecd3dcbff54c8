/** `docs/contract.md#usage`: counts agree with the list of messages, by each way to group. */
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { MessageSource, SendEndpoint } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { formatAmount, parseAmount } from "../../../services/shared/core/money.ts";
import { eventually } from "../../support/poll.ts";
import type { RestCall } from "../../support/rest.ts";
import { useRestSuite } from "../../support/rest-suite.ts";

const PATH = "/v1/usage";

type Listed = {
  readonly id: string;
  readonly status: string;
  readonly from: string;
  readonly to: string;
  readonly campaign_id: string | null;
  readonly segments: number;
  readonly amount: string | null;
  readonly created_at: string;
};

/** The value of a group's member, read from a message of the list. */
const MEMBERS: Readonly<Record<string, (message: Listed) => readonly [string, string | null]>> = {
  day: ({ created_at }) => ["day", created_at.slice(0, 10)],
  hour: ({ created_at }) => ["hour", `${created_at.slice(0, 13)}:00:00.000Z`],
  status: ({ status }) => ["status", status],
  country: ({ to }) => [
    "country",
    to.startsWith("+234") ? "NG" : to.startsWith("+233") ? "GH" : null,
  ],
  sender_id: ({ from }) => ["sender_id", from],
  campaign: ({ campaign_id }) => ["campaign_id", campaign_id],
};

describe("REST: usage", function () {
  this.timeout(60_000);
  const { rest, customer, call } = useRestSuite();
  let secondKey: string;

  before(async function () {
    this.timeout(120_000);
    secondKey = await customer.addKey({});
    await sendOfEveryKind();
    await eventually(
      async () => {
        const listed = await list();
        const open = listed.filter(({ status }) => status === "queued" || status === "sent");
        return listed.length === 10 && open.length === 0;
      },
      { timeoutMs: 20_000, everyMs: 200, what: "the messages' ends" },
    );
  });

  const usage = async (query = "", options: RestCall = {}) => {
    const answer = await call("GET", `${PATH}${query}`, options);
    expect(answer.status, answer.text).to.equal(200);
    return answer.body.data;
  };
  async function list(options: RestCall = {}): Promise<Listed[]> {
    const answer = await call("GET", "/v1/messages?limit=100", options);
    return answer.body.data;
  }

  /** Delivered, undelivered, failed, cancelled, scheduled, rejected; two keys, senders and campaigns; a long text. */
  async function sendOfEveryKind(): Promise<void> {
    const { tenantId, sender: from } = customer;
    await rest.senderIds.createSenderId({ tenantId, name: "Second", approve: true });
    const send = (body: object, options: RestCall = {}) =>
      call("POST", "/v1/sms/messages", { body: { from, body: "Hello", ...body }, ...options });
    const later = new Date(Date.now() + 86_400_000).toISOString();
    await send({ to: "08031110001", body: "long ".repeat(60) });
    await send({ to: "08031119901" }, { apiKey: secondKey });
    await send({ to: "08031119903", from: "Second" });
    await send({ to: "08031110004", send_at: later });
    const cancelled = await send({ to: "08031110005", send_at: later });
    await call("POST", `/v1/messages/${cancelled.body.data.id}/cancel`);
    const bulk = { from, body: "Hi", to: ["08031110006", "no number", "08031110006"] };
    await call("POST", "/v1/sms/messages/bulk", { body: bulk });
    await rest.messaging.sendMessages({
      ...{ tenantId, mode: Mode.LIVE, endpoint: SendEndpoint.BULK, source: MessageSource.CAMPAIGN },
      ...{ campaignId: newId("campaign"), from, body: "Buy" },
      recipients: [{ to: "08031110007" }, { to: "08031110008" }],
    });
    await call("POST", "/v1/sms/messages", {
      ...{ apiKey: customer.testKey, body: { from, to: "08031110009", body: "A test" } },
    });
  }

  /** The groups that the list of messages makes. */
  function groupsOf(messages: readonly Listed[], names: readonly string[]): object[] {
    const groups = new Map<string, { n: number; s: number; a: bigint; members: object }>();
    for (const message of messages) {
      const members = Object.fromEntries(names.map((name) => MEMBERS[name]?.(message) ?? []));
      const id = JSON.stringify(members);
      const { n, s, a } = groups.get(id) ?? { n: 0, s: 0, a: 0n };
      const amount = a + (parseAmount(message.amount ?? "0") ?? 0n);
      groups.set(id, { n: n + 1, s: s + message.segments, a: amount, members });
    }
    return [...groups.values()].map(({ n, s, a, members }) => ({
      ...members,
      ...{ messages: n, segments: s, amount: formatAmount(a) },
    }));
  }

  async function expectToAgree(names: readonly string[]): Promise<void> {
    const wanted = groupsOf(await list(), names);
    await eventually(
      async () => {
        const { groups } = await usage(`?group_by=${names.join(",")}`);
        if (groups.length !== wanted.length) return false;
        expect(groups, names.join()).to.have.deep.members(wanted);
        return true;
      },
      { timeoutMs: 30_000, everyMs: 300, what: `counts by ${names}` },
    );
  }

  it("agrees with the list of messages for every group_by", async () => {
    await expectToAgree(Object.keys(MEMBERS));
    for (const name of Object.keys(MEMBERS)) await expectToAgree([name]);
    await expectToAgree(["sender_id", "status"]);
    const { total, groups, as_of, currency } = await usage();
    expect(groups).to.deep.equal([total]);
    expect(total.messages).to.equal(10);
    expect(currency).to.equal("NGN");
    expect(Date.now() - Date.parse(as_of)).to.be.within(0, 60_000);
    const balance = (await call("GET", "/v1/balance")).body.data;
    await eventually(async () => (await call("GET", "/v1/balance")).body.data.held !== "x");
    const spent = 100_000_000n - (parseAmount(balance.balance) ?? 0n);
    expect(total.amount).to.equal(formatAmount(spent));
  });

  it("a late change moves the count to the new status", async () => {
    const found = (await list()).find(({ status }) => status === "scheduled");
    await call("POST", `/v1/messages/${found?.id}/cancel`);
    await expectToAgree(["status"]);
    const statuses = (await usage("?group_by=status")).groups.map(
      ({ status }: { status: string }) => status,
    );
    expect(statuses).to.not.include("scheduled");
  });

  it("groups by the key that sent, and by none for internal callers", async () => {
    const { keys } = await rest.tenants.listApiKeys({ tenantId: customer.tenantId });
    const { groups } = await usage("?group_by=key");
    const byKey = new Map(
      groups.map((group: { api_key_id: string; messages: number }) => [
        group.api_key_id,
        group.messages,
      ]),
    );
    expect(byKey.get(null)).to.equal(2);
    expect([...byKey.values()].sort()).to.deep.equal([1, 2, 7]);
    for (const id of byKey.keys()) {
      if (id !== null) expect(keys.map((key) => key.id)).to.include(id);
    }
  });

  it("a test key counts test messages only, which cost nothing", async () => {
    const options = { apiKey: customer.testKey };
    await eventually(async () => (await usage("", options)).total.messages === 1, {
      timeoutMs: 20_000,
      what: "the test message",
    });
    const counted = await usage("", options);
    expect(counted).to.include({ mode: "test" });
    expect(counted.total.amount).to.equal("0.0000");
  });

  it("days are those of the zone", async () => {
    const zones = ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu"];
    for (const zone of zones) {
      const { groups, time_zone } = await usage(`?group_by=day&time_zone=${zone}`);
      expect(time_zone).to.equal(zone);
      const form = { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" } as const;
      const wanted = new Set(
        (await list()).map(({ created_at }) =>
          new Intl.DateTimeFormat("en-CA", form).format(new Date(created_at)),
        ),
      );
      const days = groups.map(({ day }: { day: string }) => day);
      expect(days, zone).to.have.members([...wanted]);
      const hours = (await usage(`?group_by=hour&time_zone=${zone}`)).groups;
      const minute = zone === "Asia/Kathmandu" ? ":15:00.000Z" : ":00:00.000Z";
      for (const { hour } of hours) expect(hour, zone).to.match(new RegExp(`${minute}$`));
    }
  });

  it("a range counts the messages of the list in that range", async () => {
    const step = 900_000;
    const start = new Date(Math.floor(Date.now() / step) * step - step).toISOString();
    const { total } = await usage(`?created_after=${start}`);
    expect(total.messages).to.equal(10);
    const before = await usage(
      `?created_after=2026-01-01T00:00:00Z&created_before=2026-01-02T00:00:00%2B01:00`,
    );
    expect(before.total.messages).to.equal(0);
    expect(before.created_before).to.equal("2026-01-01T23:00:00.000Z");
  });

  it("wrong parameters are refused together", async () => {
    const wrong = await call(
      "GET",
      `${PATH}?group_by=minute&created_after=2026-01-01T00:01:00Z&created_before=2026-12-01T00:00:00Z` +
        "&time_zone=Mars/Olympus&limit=5",
    );
    expect(wrong.status).to.equal(422);
    expect(wrong.body.errors.map(({ field }: { field: string }) => field).sort()).to.deep.equal([
      ...["created_after", "created_before", "group_by", "limit", "time_zone"],
    ]);
  });
});
