/**
 * `make bench-allocation`: bytes that V8 allocates in gateway and messaging for each accepted single send. On an
 * otherwise idle machine, quick or slow, this varies by a hundredth, so it shows steps that are too small for
 * `make bench`.
 */
import { processLayout } from "../../deploy/dev/process-table.ts";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { setConnector } from "./connector-state.ts";
import { processesIn } from "./cpu.ts";
import { sendAll } from "./message-cost.ts";
import { ACCEPT_CONNECTIONS } from "./our-accept.ts";
import { report } from "./report.ts";
import { singleSend } from "./sends.ts";
import { loadStack } from "./stack.ts";
import { allowProfiles, openHeapCounter } from "./v8-profile.ts";

const REQUESTS = 20_000;
/** Kilobytes for one request. */
const MOST_KB = 60;
/** Measurements before the one that counts: compiling code allocates too. */
const WARM_UPS = 3;

allowProfiles();
const { stack, stop } = await loadStack({}, processLayout({ PROCESSES: "core" }));
try {
  await setConnector(stack, ConnectorState.PAUSED);
  const { messaging, gateway } = stack.pids;
  if (messaging === undefined || gateway === undefined) throw new Error("the stack has no core");
  const pids = processesIn({ messaging, gateway }).map(([, pid]) => pid);
  const counters = await Promise.all(pids.map(openHeapCounter));
  const allocated = async () =>
    (await Promise.all(counters.map((counter) => counter.allocatedBytes()))).reduce(
      (sum, bytes) => sum + bytes,
      0,
    );

  const run = () => sendAll(stack, REQUESTS, (at) => singleSend(stack, at), ACCEPT_CONNECTIONS);
  for (let round = 0; round < WARM_UPS; round += 1) await run();
  const before = await allocated();
  await run();
  const kilobytes = ((await allocated()) - before) / REQUESTS / 1000;
  for (const counter of counters) counter.close();
  report("allocation", [
    {
      path: "allocated for one accepted single send",
      budget: `${MOST_KB} KB`,
      aim: "",
      measured: `${kilobytes.toFixed(1)} KB`,
      met: kilobytes <= MOST_KB,
      figures: { kilobytes },
    },
  ]);
} finally {
  await stop();
}
