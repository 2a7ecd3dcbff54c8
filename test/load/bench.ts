/**
 * `make bench`: what the whole system does on this machine, beside the budgets of the design.
 * The stack is its own, one process per service; the generator is this process.
 */

import { createClient } from "@connectrpc/connect";
import { MongoClient } from "mongodb";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { ConnectorState, RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { driveClosed, driveOpen } from "./drive.ts";
import { type Row, report } from "./report.ts";
import { bulkSend, openConnections, singleSend } from "./sends.ts";
import { loadStack } from "./stack.ts";

const SECONDS = Number(process.env.BENCH_SECONDS ?? 8);
const { stack, stop } = await loadStack();
try {
  const rows: Row[] = [await loneLatency(stack), await endToEnd(stack)];
  await setConnector(stack, ConnectorState.PAUSED);
  rows.push(await acceptSingle(stack), await acceptBulk(stack), await hotWallet(stack));
  report("bench", rows);
} finally {
  await stop();
}

/** A connector that stands still shows the accept path alone; the queue is real and stays. */
async function setConnector(stack: StackFile, state: ConnectorState): Promise<void> {
  const transport = createGrpcJsTransport({
    target: stack.grpc.routing ?? "",
    token: stack.grpc_token,
  });
  await createClient(RoutingService, transport).updateConnector({
    id: "smsc",
    connector: { id: "smsc", state },
    fields: ["state"],
  });
  transport.close();
}

async function loneLatency(stack: StackFile): Promise<Row> {
  const [connection] = await openConnections(stack, 1);
  let count = 0;
  const work = async () => {
    count += 1;
    return (await connection?.send(singleSend(stack, count)))?.status === 202;
  };
  // Code that was never run is compiled on its way; a service in use has that behind it.
  await driveClosed({ callers: 1, warmupMs: 0, measureMs: 8000, work });
  const pace = { callers: 1, perSecond: 20, warmupMs: 1000, measureMs: SECONDS * 1000 };
  const measured = await driveOpen({ ...pace, work });
  connection?.close();
  const { p50Ms, p99Ms, failed } = measured;
  return {
    path: "lone request, p50 / p99",
    budget: "15 / 40 ms",
    aim: "8 / 20 ms",
    measured: `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)} ms`,
    met: p50Ms <= 15 && p99Ms <= 40 && failed === 0,
    figures: { p50Ms, p99Ms, failed },
  };
}

async function acceptSingle(stack: StackFile): Promise<Row> {
  const connections = await openConnections(stack, 256);
  let count = 0;
  const measured = await driveClosed({
    callers: connections.length,
    warmupMs: 3000,
    measureMs: SECONDS * 1000,
    work: async (caller) => {
      count += 1;
      return (await connections[caller]?.send(singleSend(stack, count)))?.status === 202;
    },
  });
  for (const connection of connections) connection.close();
  const { perSecond, p50Ms, p99Ms, failed } = measured;
  return {
    path: "single sends accepted, 256 connections",
    budget: "4,000/s",
    aim: "6,500/s",
    measured: `${Math.round(perSecond)}/s (p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms, ${failed} failed)`,
    met: perSecond >= 4000 && failed === 0,
    figures: { perSecond, p50Ms, p99Ms, failed },
  };
}

async function acceptBulk(stack: StackFile): Promise<Row> {
  const connections = await openConnections(stack, 8);
  let count = 0;
  const measured = await driveClosed({
    callers: connections.length,
    warmupMs: 2000,
    measureMs: SECONDS * 1000,
    work: async (caller) => {
      count += 1;
      return (await connections[caller]?.send(bulkSend(stack, count, 1000)))?.status === 202;
    },
  });
  for (const connection of connections) connection.close();
  const perSecond = measured.perSecond * 1000;
  return {
    path: "bulk of 1,000: messages accepted",
    budget: "20,000/s",
    aim: "50,000/s",
    measured: `${Math.round(perSecond)}/s (p99 ${measured.p99Ms.toFixed(0)} ms, ${measured.failed} failed)`,
    met: perSecond >= 20_000 && measured.failed === 0,
    figures: { perSecond, p99Ms: measured.p99Ms, failed: measured.failed },
  };
}

async function hotWallet(stack: StackFile): Promise<Row> {
  const transport = createGrpcJsTransport({
    target: stack.grpc.wallet ?? "",
    token: stack.grpc_token,
  });
  const wallets = createClient(WalletService, transport);
  const { tenant_id: tenantId } = stack;
  await wallets.fundWallet({
    tenantId,
    amount: 10_000_000_000n,
    reference: newId("request"),
    actor: { name: "bench", address: "" },
  });
  const batch = 100;
  const measured = await driveClosed({
    callers: 16,
    warmupMs: 2000,
    measureMs: SECONDS * 1000,
    work: async () => {
      const messageId = newId("message");
      const { outcomes } = await wallets.placeHolds({
        holds: Array.from({ length: batch }, () => ({
          tenantId,
          reservationId: newId("reservation"),
          amount: 10_000n,
          messageCount: 1,
          firstMessageId: messageId,
          lastMessageId: messageId,
        })),
      });
      return outcomes.every(({ errorCode }) => errorCode === "");
    },
  });
  transport.close();
  const perSecond = measured.perSecond * batch;
  return {
    path: "holds on one wallet, durable",
    budget: "10,000/s",
    aim: "40,000/s",
    measured: `${Math.round(perSecond)}/s (${measured.failed} failed)`,
    met: perSecond >= 10_000 && measured.failed === 0,
    figures: { perSecond, failed: measured.failed },
  };
}

/**
 * Sends at a steady rate and waits until the last message is delivered and settled; the figure is
 * messages over the whole time, so a queue that grows shows as a lower rate.
 */
async function endToEnd(stack: StackFile): Promise<Row> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  const messages = client
    .db("sms_messaging")
    .collection<{ _id: string; status: string }>("messages");
  const settlements = client.db("sms_wallet").collection<{ _id: string }>("settlements");
  const firstId = newId("message");
  const connections = await openConnections(stack, 128);
  const rate = Number(process.env.BENCH_RATE ?? 1500);
  let count = 0;
  const startedMs = performance.now();
  const measured = await driveOpen({
    callers: connections.length,
    perSecond: rate,
    warmupMs: 0,
    measureMs: SECONDS * 1000,
    work: async (caller) => {
      count += 1;
      return (await connections[caller]?.send(singleSend(stack, count)))?.status === 202;
    },
  });
  for (const connection of connections) connection.close();
  const wanted = measured.succeeded;
  let done = 0;
  for (const untilMs = performance.now() + 120_000; performance.now() < untilMs; ) {
    const range = { _id: { $gte: firstId } };
    const [delivered, settled] = await Promise.all([
      messages.countDocuments({ ...range, status: "delivered" }),
      settlements.countDocuments(range),
    ]);
    done = Math.min(delivered, settled);
    if (done >= wanted) break;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const seconds = (performance.now() - startedMs) / 1000;
  await client.close();
  // Receipts come a second after the submit; that second is the simulator's, not the system's.
  const perSecond = done / Math.max(0.001, seconds - 1);
  return {
    path: "single sends end to end (accepted → delivered, settled)",
    budget: "Kannel's, 1,000–1,500/s",
    aim: "2,000/s",
    measured:
      `${Math.round(perSecond)}/s (${done} of ${wanted} in ${seconds.toFixed(1)} s, ` +
      `${rate}/s offered, accept p99 ${measured.p99Ms.toFixed(0)} ms)`,
    met: perSecond >= 1000 && done === wanted && measured.failed === 0,
    figures: { perSecond, done, wanted, seconds, acceptP99Ms: measured.p99Ms },
  };
}
