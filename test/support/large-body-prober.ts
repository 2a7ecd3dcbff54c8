/** A worker that calls the gateway every 20 ms until it is stopped, and reports the latencies. */
import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

const INTERVAL_MS = 20;

const { gateway, livez, victimKey } = workerData as Record<string, string>;
/** A busy gateway may refuse requests of the API for a moment, but never `livez`. */
const BUSY_STATUS = 503;

const balance: number[] = [];
const live: number[] = [];
let refused = 0;
let isStopped = false;

async function probe(url: string, latencies: number[], headers: Record<string, string>) {
  const startMs = performance.now();
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(20_000) });
  const text = await response.text();
  if (response.status === BUSY_STATUS && url !== livez) refused += 1;
  else if (response.status !== 200) throw new Error(`${url} answers ${response.status}: ${text}`);
  latencies.push(performance.now() - startMs);
}

async function keepProbing(url: string, latencies: number[], headers: Record<string, string> = {}) {
  while (!isStopped) {
    await probe(url, latencies, headers);
    await sleep(INTERVAL_MS);
  }
}

const authorization = `Bearer ${victimKey}`;
await probe(`${gateway}/v1/balance`, [], { authorization });
await probe(livez ?? "", [], {});
parentPort?.once("message", () => {
  isStopped = true;
});
parentPort?.postMessage("started");
await Promise.all([
  keepProbing(`${gateway}/v1/balance`, balance, { authorization }),
  keepProbing(livez ?? "", live),
]);
balance.sort((a, b) => a - b);
parentPort?.postMessage({
  balanceP90Ms: balance[Math.floor(balance.length * 0.9)],
  balanceP99Ms: balance[Math.floor(balance.length * 0.99)],
  balanceRefusedShare: refused / balance.length,
  balanceMaxMs: Math.max(...balance),
  livezMaxMs: Math.max(...live),
});
