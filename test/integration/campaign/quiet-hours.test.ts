/** Campaigns of promotional messages inside quiet hours. */
import { createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { CampaignStatus, QuietHoursPolicy } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService, TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { createGrpcJsTransport } from "../../../services/shared/rpc/transport.ts";
import { type CampaignStack, startCampaignStack } from "../../support/campaign-stack.ts";
import { eventually } from "../../support/poll.ts";

const COUNT = 1200;
/** The fewest messages that a campaign may have queued ahead (`domain/chunk-size.ts`). */
const AHEAD = 500;
const MINUTES_OF_DAY = 1440;

const numbers = Array.from({ length: COUNT }, (_, at) => `+23480310${String(at).padStart(5, "0")}`);

describe("a campaign in quiet hours", function () {
  this.timeout(120_000);
  let campaigns: CampaignStack;
  const closers: (() => void)[] = [];

  function client<S extends typeof RoutingService | typeof SenderIdService>(
    service: S,
    name: string,
  ) {
    const target = campaigns.stack.grpc[name] ?? "";
    const transport = createGrpcJsTransport({ target, token: campaigns.stack.grpc_token });
    closers.push(() => transport.close());
    return createClient(service, transport);
  }

  before(async () => {
    campaigns = await startCampaignStack();
    await client(SenderIdService, "sender-id").createSenderId({
      ...{ tenantId: campaigns.stack.tenant_id, name: "PROMO", approve: true },
      trafficClass: TrafficClass.PROMOTIONAL,
    });
    await setQuietNow();
  });
  after(async () => {
    for (const close of closers) close();
    await campaigns?.stop();
  });

  /** It is quiet now, for an hour before and after. */
  async function setQuietNow(): Promise<void> {
    const now = new Date();
    const minute = now.getUTCHours() * 60 + now.getUTCMinutes();
    const window = {
      fromMinute: (minute + MINUTES_OF_DAY - 60) % MINUTES_OF_DAY,
      untilMinute: (minute + 60) % MINUTES_OF_DAY,
    };
    await client(RoutingService, "routing").setQuietHours({
      quietHours: { country: "NG", timeZone: "UTC", windows: [window] },
    });
  }

  const progressOf = async (id: string) => (await campaigns.get(id)).progress;

  it("feeds no more than the queue may hold, continues in the morning, and does not end before", async () => {
    const id = await campaigns.draft(numbers, { from: "PROMO" });
    await campaigns.start(id);
    await eventually(async () => (await progressOf(id))?.queued === BigInt(AHEAD), {
      timeoutMs: 20_000,
    });
    const held = await campaigns.held();
    const passes = Date.now() + 3000;
    await eventually(
      async () => {
        const campaign = await campaigns.get(id);
        expect(campaign.status).to.equal(CampaignStatus.RUNNING);
        expect(campaign.progress).to.include({ queued: BigInt(AHEAD), sent: 0n, failed: 0n });
        return Date.now() > passes;
      },
      { everyMs: 300 },
    );
    expect(await campaigns.held()).to.equal(held);

    await client(RoutingService, "routing").removeQuietHours({ country: "NG" });
    await campaigns.reaches(id, CampaignStatus.COMPLETED, 60_000);
    const done = await campaigns.settles(id, 60_000);
    expect(done.progress).to.include({ delivered: BigInt(COUNT), failed: 0n, rejected: 0n });
  });

  it("under the policy reject, rejects the rows that it feeds inside them", async () => {
    await setQuietNow();
    const content = { from: "PROMO", quietHours: QuietHoursPolicy.REJECT };
    // Messaging may have the rule a moment later.
    await eventually(
      async () => {
        const id = await campaigns.draft(numbers.slice(0, 10), content);
        await campaigns.start(id);
        const { progress } = await campaigns.reaches(id, CampaignStatus.COMPLETED, 20_000);
        return progress?.rejected === 10n;
      },
      { timeoutMs: 60_000 },
    );
  });
});
