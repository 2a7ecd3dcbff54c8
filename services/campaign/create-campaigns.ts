/** Builds the use cases of the campaign service on its ports. */
import type { Clock } from "../shared/core/clock.ts";
import type { Logger } from "../shared/core/logger.ts";
import { type Loop, startLoop } from "../shared/flow/periodic.ts";
import { createCampaigns } from "./app/campaigns.ts";
import { createStateChanges } from "./app/change-state.ts";
import { type AllCampaigns, createCheck } from "./app/check-campaigns.ts";
import { createChunks } from "./app/chunks.ts";
import { startFeeder } from "./app/feeder.ts";
import { createFollowMessages } from "./app/follow-messages.ts";
import type { CampaignStore, Messaging, Tenants, Wallets } from "./app/ports.ts";
import { createRecipients } from "./app/recipients.ts";
import { createSendTest } from "./app/send-test.ts";
import { createSweep } from "./app/sweep.ts";
import type { CampaignConfig } from "./config.ts";

const DUE_INTERVAL_MS = 1000;
const PAUSED_INTERVAL_MS = 10_000;
const REMOVE_INTERVAL_MS = 60_000;

export type CampaignPorts = {
  readonly store: CampaignStore & AllCampaigns;
  readonly messaging: Messaging;
  readonly wallets: Wallets;
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly log: Logger;
  /** Names this process in leases. */
  readonly owner: string;
  readonly onChunk: (rows: number) => void;
};

/** The use cases, and the loops that feed and sweep until `close`. */
export function openCampaigns(ports: CampaignPorts, config: CampaignConfig) {
  const { store, messaging, wallets, clock, log } = ports;
  const chunks = createChunks({ store, messaging, clock });
  const feeder = startFeeder({ ...ports, chunks, leaseMs: config.CAMPAIGN_LEASE_MS });
  const { nudge } = feeder;
  const states = createStateChanges({ store, messaging, wallets, chunks, clock, nudge });
  const sweep = createSweep({
    ...{ store, states, clock, log, nudge },
    pausedMaxMs: config.CAMPAIGN_PAUSED_MAX_MS,
    keepRowsMs: config.CAMPAIGN_KEEP_ROWS_MS,
  });
  const loop = (name: string, intervalMs: number, work: () => Promise<boolean>): Loop =>
    startLoop({ name, intervalMs, log, work });
  const loops = [
    loop("due campaigns", DUE_INTERVAL_MS, sweep.start),
    loop("forgotten campaigns", PAUSED_INTERVAL_MS, sweep.fail),
    loop("old rows", REMOVE_INTERVAL_MS, sweep.remove),
    feeder,
  ];
  return {
    campaigns: createCampaigns({ ...ports, openMax: config.CAMPAIGN_OPEN_MAX }),
    recipients: createRecipients({ store, clock, rowsMax: config.CAMPAIGN_ROWS_MAX }),
    states,
    estimating: { store, messaging, wallets },
    sendTest: createSendTest({ store, messaging }),
    feeding: feeder.figures,
    isStarting: feeder.isStarting,
    check: createCheck(store, config.CAMPAIGN_KEEP_ROWS_MS),
    follow: createFollowMessages({ store, clock, nudge }),
    async close() {
      for (const one of loops) await one.close();
    },
  };
}
