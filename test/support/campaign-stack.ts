/** A stack with campaigns: the campaign service, messaging and the carrier can be killed one by one. */
import { type Client, createClient } from "@connectrpc/connect";
import {
  type Campaign,
  CampaignService,
  CampaignStatus,
  type RecipientStatus,
} from "../../proto/gen/sms/v1/campaign_pb.js";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { recipient } from "./customer.ts";
import { eventually } from "./poll.ts";
import { openSimulatorControl, type SimulatorCounts } from "./simulator-control.ts";
import { startTestStack, type TestStack } from "./stack.ts";

/** A running stack and what tests of campaigns do with it. */
export type CampaignStack = {
  readonly stack: TestStack;
  readonly campaigns: Client<typeof CampaignService>;
  readonly wallets: Client<typeof WalletService>;
  /** Makes a draft of the demo tenant with these numbers; `content` overrides its content. */
  draft(numbers: readonly string[], content?: object): Promise<string>;
  get(campaignId: string): Promise<Campaign>;
  start(campaignId: string): Promise<void>;
  /** Waits for the status. */
  reaches(campaignId: string, status: CampaignStatus, timeoutMs?: number): Promise<Campaign>;
  /** Waits until no message of the campaign is queued or sent. */
  settles(campaignId: string, timeoutMs?: number): Promise<Campaign>;
  /** Submits by number, without the leading +. */
  submits(): Promise<SimulatorCounts["submits"]>;
  /** All submits that the simulator has taken. */
  submitted(): Promise<number>;
  /** The numbers of the campaign's rows in these states. */
  numbersOf(campaignId: string, statuses: readonly RecipientStatus[]): Promise<Set<string>>;
  behave(behaviour: object): Promise<void>;
  balance(): Promise<bigint>;
  held(): Promise<bigint>;
  target(campaignId: string): { tenantId: string; mode: Mode; campaignId: string };
  stop(): Promise<void>;
};

const PROCESSES = [
  { name: "core", services: ["tenant", "sender-id", "routing", "consent", "webhook", "gateway"] },
  ...["messaging", "wallet", "carrier", "campaign"].map((name) => ({ name, services: [name] })),
];

/** Starts it. */
export async function startCampaignStack(
  settings: Readonly<Record<string, string>> = {},
): Promise<CampaignStack> {
  const stack = await startTestStack({
    settings: { LOG_LEVEL: "warn", ...settings },
    processes: PROCESSES,
  });
  const open = (name: string) =>
    createGrpcJsTransport({ target: stack.grpc[name] ?? "", token: stack.grpc_token });
  const transports = [open("campaign"), open("wallet")] as const;
  const campaigns = createClient(CampaignService, transports[0]);
  const wallets = createClient(WalletService, transports[1]);
  const tenantId = stack.tenant_id;
  const target = (campaignId: string) => ({ tenantId, mode: Mode.LIVE, campaignId });

  async function get(campaignId: string): Promise<Campaign> {
    const { campaign } = await campaigns.getCampaign(target(campaignId));
    if (campaign === undefined) throw new Error(`no campaign ${campaignId}`);
    return campaign;
  }

  async function until(campaignId: string, isThere: (campaign: Campaign) => boolean, ms: number) {
    let seen: Campaign | undefined;
    await eventually(
      async () => {
        seen = await get(campaignId).catch(() => seen);
        if (seen === undefined || !isThere(seen)) throw new Error(describe(seen));
        return true;
      },
      { timeoutMs: ms, everyMs: 100, what: `the campaign ${campaignId}` },
    );
    return seen as Campaign;
  }

  const wallet = async () => (await wallets.getWallet({ tenantId })).wallet;
  const { counts, behave } = await openSimulatorControl(stack);
  return {
    stack,
    campaigns,
    wallets,
    get,
    target,
    behave,
    async draft(numbers, content = {}) {
      const { campaign } = await campaigns.createCampaign({
        tenantId,
        mode: Mode.LIVE,
        content: { name: "Spring", from: stack.sender_id, body: "Hello {{name}}", ...content },
      });
      const id = campaign?.id ?? "";
      for (let at = 0; at < numbers.length; at += 1000) {
        const rows = numbers.slice(at, at + 1000).map((to) => ({ to, variables: { name: "you" } }));
        await campaigns.addRecipients({ ...target(id), rows });
      }
      return id;
    },
    start: async (campaignId) => void (await campaigns.startCampaign(target(campaignId))),
    reaches: (campaignId, status, timeoutMs = 60_000) =>
      until(campaignId, (campaign) => campaign.status === status, timeoutMs),
    settles: (campaignId, timeoutMs = 60_000) =>
      until(
        campaignId,
        ({ progress }) => progress?.queued === 0n && progress.sent === 0n,
        timeoutMs,
      ),
    submits: async () => (await counts()).submits,
    submitted: async () => (await counts()).total,
    async numbersOf(campaignId, statuses) {
      const found = new Set<string>();
      const wanted = { ...target(campaignId), statuses: [...statuses], limit: 1000 };
      for (let place = {}; ; ) {
        const page = await campaigns.listRecipients({ ...wanted, ...place });
        for (const { to } of page.recipients) found.add(to);
        const last = page.recipients.at(-1);
        if (!page.hasMore || last === undefined) return found;
        place = { afterIndex: last.index };
      }
    },
    balance: async () => (await wallet())?.balance ?? 0n,
    held: async () => (await wallet())?.held ?? 0n,
    async stop() {
      for (const transport of transports) transport.close();
      await stack.stop();
    },
  };
}

/** Different Nigerian numbers, from a place on; none is a test number, so each is delivered. */
export function nigerianNumbers(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, at) => recipient(from + at));
}

function describe(campaign: Campaign | undefined): string {
  if (campaign === undefined) return "the campaign cannot be read";
  const { status, pauseReason, progress } = campaign;
  const counts = Object.entries(progress ?? {}).filter(([, count]) => typeof count === "bigint");
  const shown = counts.map(([name, count]) => `${name}=${count}`).join(" ");
  return `${CampaignStatus[status]} ${pauseReason} ${shown}`;
}
