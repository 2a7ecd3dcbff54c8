import { expect } from "chai";
import { CampaignStatus, RecipientStatus } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { MessageStatus } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { checkCampaignMessages } from "../../../services/smsctl/check/campaign-messages.ts";
import { checkCampaigns } from "../../../services/smsctl/check/campaigns.ts";
import { checkRow } from "../../../services/smsctl/check/check-row.ts";
import { checkOf, errorOf, type Fakes, refuse, run, TENANT } from "../../support/smsctl-fakes.ts";

const CAMPAIGN = newId("campaign");
const TO = "+2348030000001";
const OF = ["--tenant", "Ada"];

describe("smsctl campaign", () => {
  const campaign = {
    id: CAMPAIGN,
    tenantId: TENANT.id,
    status: CampaignStatus.PAUSED,
    content: { name: "Spring", sendAtMs: 1_800_000_000_000n, budgetAmount: 25_000n },
    progress: { total: 2n, chargedAmount: 15_000n },
  };

  it("show prints amounts as decimals and instants as dates", async () => {
    const getCampaign = () => ({ campaign });
    const words = ["campaign", "show", CAMPAIGN, ...OF];
    const { result } = await run(words, { campaigns: { getCampaign } });
    expect(result).to.include({ id: CAMPAIGN, status: "paused" });
    expect(result.content).to.include({ budget_amount: "2.5000" });
    expect(result.content).to.include({ send_at: "2027-01-15T08:00:00.000Z" });
    expect(result.progress).to.include({ total: 2, charged_amount: "1.5000" });
  });

  it("list filters by status and continues after the last campaign", async () => {
    const asked: unknown[] = [];
    const words = ["campaign", "list", ...OF, "--status", "paused,running", "--limit", "1"];
    const { result, notes } = await run(words, {
      campaigns: {
        listCampaigns({ tenantId, statuses, limit, beforeId }) {
          asked.push({ tenantId, statuses, limit, beforeId });
          return { campaigns: [campaign], hasMore: true };
        },
      },
    });
    const statuses = [CampaignStatus.PAUSED, CampaignStatus.RUNNING];
    expect(asked).to.deep.equal([{ tenantId: TENANT.id, statuses, limit: 1, beforeId: "" }]);
    expect(result).to.have.length(1);
    expect(notes.join()).to.include(`--cursor ${CAMPAIGN}`);
  });

  it("recipients are read in pages, from the cursor's place on", async () => {
    const all = Array.from({ length: 2500 }, (_, index) => ({ index, to: TO }));
    const campaigns: Fakes["campaigns"] = {
      listRecipients({ afterIndex = -1, limit }) {
        const rest = all.filter(({ index }) => index > afterIndex);
        return { recipients: rest.slice(0, Math.min(limit, 1000)), hasMore: rest.length > limit };
      },
    };
    const words = ["campaign", "recipients", CAMPAIGN, ...OF, "--limit", "1500", "--cursor", "99"];
    const { result, notes } = await run(words, { campaigns });
    const places = (result as unknown as { index: number }[]).map(({ index }) => index);
    expect(places).to.deep.equal(all.slice(100, 1600).map(({ index }) => index));
    expect(notes.join()).to.include("--cursor 1599");
  });

  it("pause, resume and cancel name the campaign and its tenant", async () => {
    for (const [verb, method] of [
      ["pause", "pauseCampaign"],
      ["resume", "resumeCampaign"],
      ["cancel", "cancelOpenCampaign"],
    ] as const) {
      const asked: unknown[] = [];
      const campaigns: Fakes["campaigns"] = {
        [method]: ({ tenantId, campaignId }: { tenantId: string; campaignId: string }) => {
          asked.push({ tenantId, campaignId });
          return { campaign };
        },
      };
      const words = ["campaign", verb, CAMPAIGN, ...OF];
      const { result } = await run(words, { campaigns });
      expect(asked, verb).to.deep.equal([{ tenantId: TENANT.id, campaignId: CAMPAIGN }]);
      expect(result.id, verb).to.equal(CAMPAIGN);
    }
  });

  it("unknown statuses and cursors are refused before any request", async () => {
    const list = run(["campaign", "list", ...OF, "--status", "sent"], {});
    expect((await errorOf(list)).message).to.include("no status sent");
    const words = ["campaign", "recipients", CAMPAIGN, ...OF, "--cursor", CAMPAIGN];
    const recipients = run(words, {});
    expect((await errorOf(recipients)).message).to.include("not the place of a row");
  });
});

describe("smsctl check of campaigns", () => {
  const row = (status: RecipientStatus, messageId: string) => ({ to: TO, status, messageId });
  const message = (status: MessageStatus, id = "msg_1") => ({
    ...{ id, tenantId: TENANT.id, campaignId: CAMPAIGN, to: TO, status },
  });

  it("a message that is not cancelled is named by its row, with its status", () => {
    const { QUEUED, SENT, CANCELLED } = MessageStatus;
    const { WAITING } = RecipientStatus;
    for (const [status, found, wanted] of [
      [QUEUED, row(RecipientStatus.QUEUED, "msg_1"), undefined],
      [SENT, row(RecipientStatus.QUEUED, "msg_1"), 12],
      [QUEUED, row(WAITING, ""), 11],
      [SENT, row(RecipientStatus.SENT, "msg_2"), 11],
      [SENT, undefined, 11],
      // A pause took it back: the row waits, or has its next message.
      [CANCELLED, row(WAITING, ""), undefined],
      [CANCELLED, row(RecipientStatus.SENT, "msg_2"), undefined],
      [CANCELLED, row(RecipientStatus.CANCELLED, "msg_1"), undefined],
      [CANCELLED, row(RecipientStatus.QUEUED, "msg_1"), 12],
      [CANCELLED, undefined, 11],
    ] as const) {
      const fault = checkRow(message(status), found);
      expect(fault?.invariant, `${status} ${JSON.stringify(found)}`).to.equal(wanted);
    }
  });

  const services = (
    findRecipients: NonNullable<NonNullable<Fakes["campaigns"]>["findRecipients"]>,
    messages = [message(MessageStatus.SENT)],
  ): Fakes => ({
    messaging: {
      listMessages: () => ({ messages }),
      getMessage: ({ messageId }) => ({ message: messages.find(({ id }) => id === messageId) }),
    },
    campaigns: { findRecipients },
  });
  const check = (fakes: Fakes, promiseMs = 0) =>
    checkCampaignMessages(checkOf(fakes), { promiseMs, everyMs: 1 });

  it("a row may follow its message for a while", async () => {
    let reads = 0;
    const late = services(() => {
      reads += 1;
      const status = reads < 4 ? RecipientStatus.QUEUED : RecipientStatus.SENT;
      return { recipients: [row(status, "msg_1")] };
    });
    expect(await check(late, 10_000)).to.deep.include({
      ...{ breaches: [], compared: { campaign_messages: 1 } },
    });
    expect(reads).to.equal(4);
  });

  it("two messages of one row, and a message without a campaign, are breaches", async () => {
    const two = [message(MessageStatus.SENT), message(MessageStatus.SENT, "msg_2")];
    const sent = () => ({ recipients: [row(RecipientStatus.SENT, "msg_1")] });
    const double = await check(services(sent, two));
    expect(double.breaches.map(({ invariant, ids }) => [invariant, ids[0]])).to.deep.equal([
      [11, "msg_2"],
    ]);
    const unknown = await check(services(() => refuse("not_found", "There is none.")));
    expect(unknown.breaches.map(({ invariant }) => invariant)).to.deep.equal([11]);
    expect(unknown.breaches[0]?.ids).to.deep.equal(["msg_1", CAMPAIGN, TENANT.id]);
  });

  it("rows that are removed by their age are not missed", async () => {
    const { breaches } = await check(services(() => ({ rowsExpired: true })));
    expect(breaches).to.deep.equal([]);
  });

  it("the campaign service's own breaches and counts are passed on", async () => {
    const report = await checkCampaigns(
      checkOf({
        campaigns: {
          async *checkCampaigns() {
            yield { breaches: [{ invariant: 12, what: "w", ids: [CAMPAIGN] }] };
            yield { campaigns: 3n, rows: 4n, done: true };
          },
        },
      }),
    );
    expect(report.breaches).to.deep.equal([{ invariant: 12, what: "w", ids: [CAMPAIGN] }]);
    expect(report.compared).to.deep.equal({ campaigns: 3, campaign_rows: 4 });
  });
});
