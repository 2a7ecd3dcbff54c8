/**
 * The webhook service under a storm: its process killed every three seconds, NATS and MongoDB
 * stopped and started, over a tenth of the receivers hanging, failing, cutting or dripping, some endpoints
 * disabled. Afterwards it checks every promise against the receivers' records.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SERVERS_DIR } from "../../deploy/dev/paths.ts";
import { freePorts } from "../../deploy/dev/ports.ts";
import { endProcess, type ProcessRecord } from "../../deploy/dev/processes.ts";
import type { ServerName } from "../../deploy/dev/server-table.ts";
import { serverUrl, startServer } from "../../deploy/dev/servers.ts";
import { WebhookEndpointStatus } from "../../proto/gen/sms/v1/webhook_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import { seededRandom } from "../../services/smsc-simulator/domain/latency.ts";
import { eventually } from "../support/poll.ts";
import { createGuard } from "../support/process-guard.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import {
  messageEvent,
  openWebhookStores,
  publishEvents,
  testCertificates,
  webhookSettings,
} from "../support/webhook-harness.ts";
import { startReceiverProcess, startWebhookProcess } from "../support/webhook-process.ts";
import { checkPromises } from "./webhook-promises.ts";
import type { ChaosReport, EndpointKind, EndpointRecord, Storm } from "./webhook-storm-records.ts";

/** The size of the storm. */
export type ChaosOptions = {
  readonly events: number;
  readonly perSecond: number;
  /** How many endpoints of each kind; each is its own tenant's. */
  readonly endpoints: Readonly<Record<EndpointKind, number>>;
  readonly killEveryMs: number;
  readonly retryDelaysMs: readonly number[];
  readonly timeoutMs: number;
  /** How late a retry may be. */
  readonly lateMsMax: number;
  readonly seed: number;
  readonly say: (line: string) => void;
};

/** A MongoDB or NATS of the storm, on a fixed port. */
async function openServer(name: ServerName, port: number, folder: string) {
  const plan = {
    name,
    port,
    dataDir: join(folder, name),
    logFile: join(folder, `${name}.log`),
    serversDir: SERVERS_DIR,
  };
  let record: ProcessRecord = await startServer(plan);
  return {
    url: serverUrl(name, port),
    record: () => record,
    stop: () => endProcess(record, 1500),
    async start() {
      record = await startServer(plan);
    },
  };
}

/** Runs a storm and checks the promises. */
export async function runWebhookChaos(options: ChaosOptions): Promise<ChaosReport> {
  const folder = temporaryFolder("webhook-chaos");
  const certificates = testCertificates();
  const [mongoPort = 0, natsPort = 0] = await freePorts(2);
  const mongod = await openServer("mongod", mongoPort, folder);
  const nats = await openServer("nats-server", natsPort, folder);
  const guard = createGuard(folder);
  for (const server of [mongod, nats]) guard.add(server.record());
  const servers = { mongodbUri: mongod.url, natsUrl: nats.url };
  const stores = await openWebhookStores(servers, "chaos");
  const receiver = await startReceiverProcess(certificates);
  const webhook = await startWebhookProcess({
    ...webhookSettings(servers, "chaos", [receiver.port], certificates.caFile),
    WEBHOOK_RETRY_DELAYS_MS: options.retryDelaysMs.join(","),
    WEBHOOK_TIMEOUT_MS: String(options.timeoutMs),
  });
  try {
    const parts = { options, mongod, nats, stores, receiver, webhook };
    return await blow(parts);
  } finally {
    await webhook.kill();
    await webhook.stop();
    await receiver.stop();
    await stores.nats.connection.close().catch(() => undefined);
    await stores.mongo.close().catch(() => undefined);
    await mongod.stop();
    await nats.stop();
    guard.dismiss();
    await rm(folder, { recursive: true, force: true });
  }
}

type Parts = {
  readonly options: ChaosOptions;
  readonly mongod: Awaited<ReturnType<typeof openServer>>;
  readonly nats: Awaited<ReturnType<typeof openServer>>;
  readonly stores: Awaited<ReturnType<typeof openWebhookStores>>;
  readonly receiver: Awaited<ReturnType<typeof startReceiverProcess>>;
  readonly webhook: Awaited<ReturnType<typeof startWebhookProcess>>;
};

async function blow(parts: Parts): Promise<ChaosReport> {
  const { options, receiver } = parts;
  const endpoints = await addEndpoints(parts);
  const storm: Storm = { kills: [], stops: [], events: [] };
  const isDone = { value: false };
  const killing = killAgainAndAgain(parts, storm, isDone);
  await Promise.all([
    publishAll(parts, endpoints, storm),
    stopServers(parts, storm, endpoints).finally(() => {
      isDone.value = true;
    }),
  ]);
  await killing;
  options.say(`the storm is over after ${storm.kills.length} kills; waiting for the rest`);
  await waitForTheRest(parts);
  const { requests, overlaps } = await receiver.collect();
  const deliveries = await parts.stores.mongo.db
    .collection<never>("deliveries")
    .find({}, { projection: { body: 0 } })
    .toArray();
  return checkPromises({
    endpoints,
    storm,
    requests,
    deliveries,
    overlaps,
    retryDelaysMs: options.retryDelaysMs,
    timeoutMs: options.timeoutMs,
    lateMsMax: options.lateMsMax,
  });
}

async function addEndpoints({ options, webhook, receiver }: Parts): Promise<EndpointRecord[]> {
  const records: EndpointRecord[] = [];
  for (const [kind, count] of Object.entries(options.endpoints)) {
    for (let at = 0; at < count; at += 1) {
      const tenantId = newId("tenant");
      const path = `/${kind === "disabled" ? "ok" : kind}/${tenantId}`;
      const { endpoint } = await webhook.client.createEndpoint({
        tenantId,
        url: receiver.url(path),
      });
      const id = endpoint?.id ?? "";
      records.push({
        id,
        tenantId,
        path,
        kind: kind as EndpointKind,
        disableAskedMs: 0,
        disabledAtMs: 0,
        enableAskedMs: 0,
        enabledAtMs: 0,
      });
    }
  }
  return records;
}

/** Publishes at a fixed rate; retries rejected events under the same ids. */
async function publishAll({ options, stores }: Parts, endpoints: EndpointRecord[], storm: Storm) {
  const random = seededRandom(options.seed);
  const beganMs = performance.now();
  let sent = 0;
  while (sent < options.events) {
    const due = Math.ceil(((performance.now() - beganMs) * options.perSecond) / 1000);
    const events = [];
    for (; sent < Math.min(due, options.events); sent += 1) {
      const endpoint = endpoints[Math.floor(random() * endpoints.length)] as EndpointRecord;
      const event = messageEvent(endpoint.tenantId, { body: "x" });
      storm.events.push({
        id: event.id,
        endpointId: endpoint.id,
        atMs: Number(event.occurredAtMs),
      });
      events.push(event);
    }
    for (;;) {
      try {
        await publishEvents(stores.nats, events);
        break;
      } catch {
        await sleep(200);
      }
    }
    await sleep(50);
  }
}

async function killAgainAndAgain(
  { options, webhook }: Parts,
  storm: Storm,
  isDone: { readonly value: boolean },
): Promise<void> {
  for (;;) {
    await sleep(options.killEveryMs);
    if (isDone.value) return;
    const fromMs = Date.now();
    await webhook.kill();
    webhook.launch();
    // Readiness needs MongoDB and NATS, so an outage delays the next kill.
    await eventually(async () => (await fetch(`${webhook.opsUrl}/readyz`)).ok, {
      timeoutMs: 20_000,
      everyMs: 10,
    });
    storm.kills.push({ fromMs, toMs: Date.now() });
  }
}

/** Stops and starts each server once, and disables and enables some endpoints. */
async function stopServers(
  { options, mongod, nats, webhook }: Parts,
  storm: Storm,
  endpoints: readonly EndpointRecord[],
): Promise<void> {
  const wholeMs = (options.events / options.perSecond) * 1000;
  await sleep(wholeMs * 0.25);
  for (const server of [nats, mongod]) {
    const fromMs = Date.now();
    await server.stop();
    await sleep(1000);
    await server.start();
    storm.stops.push({ fromMs, toMs: Date.now() });
    options.say(`${server.record().name} was away for ${Date.now() - fromMs} ms`);
    await sleep(wholeMs * 0.1);
  }
  for (const status of [WebhookEndpointStatus.DISABLED, WebhookEndpointStatus.ENABLED]) {
    for (const record of endpoints.filter(({ kind }) => kind === "disabled")) {
      const { tenantId, id: endpointId } = record;
      const askedMs = Date.now();
      await eventually(
        async () => (await webhook.client.updateEndpoint({ tenantId, endpointId, status })) && true,
        { timeoutMs: 30_000, everyMs: 100 },
      );
      if (status === WebhookEndpointStatus.DISABLED) {
        record.disableAskedMs = askedMs;
        record.disabledAtMs = Date.now();
      } else {
        record.enableAskedMs = askedMs;
        record.enabledAtMs = Date.now();
      }
    }
    await sleep(wholeMs * 0.15);
  }
}

async function waitForTheRest({ stores, options }: Parts): Promise<void> {
  const { retryDelaysMs, timeoutMs } = options;
  const scheduleMs = retryDelaysMs.reduce((sum, delay) => sum + delay + timeoutMs, timeoutMs);
  const manager = await stores.nats.connection.jetstreamManager();
  await eventually(
    async () => {
      const info = await manager.consumers.info("SMS_EVENTS", "webhook-deliver");
      if (info.num_pending + info.num_ack_pending > 0) return false;
      const deliveries = stores.mongo.db.collection("deliveries");
      return (await deliveries.countDocuments({ status: "pending" })) === 0;
    },
    { timeoutMs: scheduleMs * 2 + 120_000, everyMs: 500, what: "the end of all deliveries" },
  );
}
