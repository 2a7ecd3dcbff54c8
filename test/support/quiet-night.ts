/**
 * A night of promotional messages on a real stack: messaging, a carrier and the SMSC simulator. The wall clocks of the
 * services are stepped to the evening, through the night and to the morning; waits are short, the night is not.
 */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { MongoClient } from "mongodb";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { MessageSource, SendEndpoint } from "../../proto/gen/sms/v1/messaging_pb.js";
import { TrafficClass } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { DEFAULT_QUIET_HOURS } from "../../services/shared/core/quiet-hours-text.ts";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { type CarrierStack, startCarrierStack } from "./carrier-stack.ts";
import { eventually } from "./poll.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const DAY_MS = 86_400_000;
export const HOUR_MS = 3_600_000;
/** 20:00 and 08:00 in Lagos, as times of the UTC day. */
export const EVENING_MS = 19 * HOUR_MS;
export const MORNING_MS = 7 * HOUR_MS;

/** The actions of a test on a night. */
export type QuietNight = {
  readonly carrier: CarrierStack;
  /** The time by the services' clocks. */
  now(): number;
  /** Steps the clocks by a time, forward or back, and waits until the services have noticed. */
  step(byMs: number): Promise<void>;
  /** Steps the clocks on to a time of the UTC day. */
  stepTo(timeOfDayMs: number): Promise<void>;
  /** Waits for a time by the services' clocks. */
  until(atMs: number): Promise<void>;
  /** Sends promotional messages in bulk; answers when all are accepted. */
  send(count: number): Promise<void>;
  /** Sends one transactional message; answers the milliseconds until it was sent. */
  sendSingle(): Promise<number>;
  /** Submits that the simulator has counted. */
  submits(): Promise<number>;
  /** The number of messages by status and phase. */
  states(): Promise<Record<string, number>>;
  /** The times of the UTC day at which messages were sent. */
  sentAt(): Promise<number[]>;
  held(): Promise<bigint>;
  stop(): Promise<void>;
};

/** Starts a stack whose connector submits at most so many messages per second. */
export async function startQuietNight(ratePerSecond: number): Promise<QuietNight> {
  const dir = temporaryFolder("clock");
  const file = join(dir, "step");
  await writeFile(file, "0");
  const preload = new URL("../chaos/clock-step.ts", import.meta.url).href;
  const carrier = await startCarrierStack(
    { QUIET_HOURS: DEFAULT_QUIET_HOURS },
    { CHAOS_CLOCK_FILE: file, NODE_OPTIONS: `--import=${preload}` },
  );
  const { stack, messaging } = carrier;
  const tenantId = stack.tenant_id;
  await carrier.routing.updateConnector({
    ...{ id: "smsc", connector: { id: "smsc", ratePerSecond }, fields: ["rate_per_second"] },
  });
  const mongo = await new MongoClient(stack.mongodb_uri).connect();
  const messages = mongo.db("sms_messaging").collection("messages");
  const walletTransport = createGrpcJsTransport({
    ...{ target: stack.grpc.wallet ?? "", token: stack.grpc_token },
  });
  const wallets = createClient(WalletService, walletTransport);
  const promotional = { tenant_id: tenantId, traffic_class: "promotional" };
  let stepMs = 0;
  let sends = 0;
  const now = () => Date.now() + stepMs;
  const until = (atMs: number) =>
    eventually(() => now() >= atMs, { timeoutMs: 180_000, what: "a time of the night" }).then(
      () => undefined,
    );

  async function step(byMs: number): Promise<void> {
    stepMs += byMs;
    await writeFile(file, String(stepMs));
    // The services read the file five times a second.
    await until(now() + 500);
  }

  return {
    ...{ carrier, now, step, until },
    async stepTo(timeOfDayMs) {
      const atMs = Math.floor(now() / DAY_MS) * DAY_MS + timeOfDayMs;
      await step((atMs > now() ? atMs : atMs + DAY_MS) - now());
    },
    async send(count) {
      for (let left = count; left > 0; left -= 1000) {
        sends += 1;
        const recipients = Array.from({ length: Math.min(1000, left) }, (_, at) => ({
          // The last four digits never begin with 99, which the simulator would take for a test number.
          to: `+234803${100 + sends}${sends % 9}${String(at).padStart(3, "0")}`,
        }));
        await eventually(() =>
          messaging.sendMessages({
            ...{ tenantId, mode: Mode.LIVE, source: MessageSource.API },
            ...{ endpoint: SendEndpoint.BULK, from: stack.sender_id, body: "Half price!" },
            ...{ recipients, trafficClass: TrafficClass.PROMOTIONAL },
          }),
        );
      }
    },
    async sendSingle() {
      const startedMs = performance.now();
      const id = await carrier.send("+2348035550001");
      await eventually(async () => (await carrier.get(id)).sentAtMs > 0n, { everyMs: 10 });
      return performance.now() - startedMs;
    },
    submits: async () => (await carrier.counts()).total,
    async states() {
      const name = { $concat: ["$status", "|", { $ifNull: ["$phase", ""] }] };
      const counted = messages.aggregate([
        { $match: promotional },
        { $group: { _id: name, count: { $sum: 1 } } },
      ]);
      return Object.fromEntries((await counted.toArray()).map(({ _id, count }) => [_id, count]));
    },
    async sentAt() {
      const sent = await messages.distinct("sent_at", promotional);
      return sent.map((at: Date) => at.getTime() % DAY_MS);
    },
    held: async () => (await wallets.getWallet({ tenantId })).wallet?.held ?? 0n,
    async stop() {
      walletTransport.close();
      await mongo.close();
      await carrier.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** True for a time of the UTC day in the quiet hours of Nigeria. */
export function isInNight(timeOfDayMs: number): boolean {
  return timeOfDayMs >= EVENING_MS || timeOfDayMs < MORNING_MS;
}
