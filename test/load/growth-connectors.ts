/**
 * Connectors to carriers of their own. Each carrier is a simulator, all of them in one thread of
 * this process, which loads this same file: receipts go to the binds of one system id in turn, so
 * connectors that share a simulator would get each other's.
 */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { createClient } from "@connectrpc/connect";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { ConnectorType, RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { createLogger } from "../../services/shared/io/log.ts";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { startSimulator } from "../../services/smsc-simulator/create-simulator.ts";

const ACCOUNT = { systemId: "growth", password: "growth" };

/** The same window as that of the stack's own connector. */
const WINDOW = 100;

/** A price that no connector is dearer or cheaper at than the stack's own. */
const PRICES = [{ prefix: "234", price: 40_000n }];

/** Adds connectors with a bind and a route each; routes of one priority share the messages. */
export async function addConnectors(stack: StackFile, from: number, to: number): Promise<void> {
  const wanted = to - Math.max(1, from);
  if (wanted <= 0) return;
  const ports = await startSimulators(wanted);
  const target = stack.grpc.routing ?? "";
  const transport = createGrpcJsTransport({ target, token: stack.grpc_token });
  const routing = createClient(RoutingService, transport);
  for (const port of ports) {
    const id = `growth-${port}`;
    const smpp = {
      host: "127.0.0.1",
      port,
      ...ACCOUNT,
      bindMode: "transceiver",
      binds: 1,
      window: WINDOW,
    };
    await routing.createConnector({ connector: { id, type: ConnectorType.SMPP, smpp } });
    const shape = { name: id, connectorId: id, enabled: true, priority: 1, weight: 1 };
    await routing.createRoute({ route: { ...shape, prices: PRICES } });
  }
  transport.close();
  // Within a few seconds messaging reloads the route table and every connector is bound.
  await new Promise((resolve) => setTimeout(resolve, 8000));
}

async function startSimulators(count: number): Promise<number[]> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { simulators: count } });
  worker.unref();
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

const asked = (workerData as { simulators?: number } | null)?.simulators;
if (!isMainThread && asked !== undefined) {
  const log = createLogger("growth", "silent");
  const started = await Promise.all(
    Array.from({ length: asked }, () =>
      startSimulator({ host: "127.0.0.1", port: 0, controlPort: 0, ...ACCOUNT, log }),
    ),
  );
  parentPort?.postMessage(started.map(({ port }) => port));
}
