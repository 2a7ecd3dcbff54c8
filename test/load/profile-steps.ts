/** Divides a process's CPU samples by step of a message, or by library. */
import type { CpuProfile, ProfileNode } from "./v8-profile.ts";

/** Steps by the project's files. The first pattern that matches counts. */
const STEPS: readonly (readonly [step: string, files: RegExp])[] = [
  [
    "key, address, rate, concurrency limit",
    /^gateway\/(auth|rate-limit|idempotency|load-shedding)\//,
  ],
  ["send batcher", /^gateway\/operations\/sends\/send-batcher/],
  [
    "check and render bodies",
    /^gateway\/((schemas|operations|render|json)\/|http\/(body|problem))/,
  ],
  ["HTTP", /^gateway\//],
  [
    "accept",
    /^messaging\/(adapters\/rpc-batch-send|app\/(accept|commit-sends|idempotency)|store\/sends)/,
  ],
  ["accept", /^messaging\/domain\/(build-messages|send)/],
  [
    "claim",
    /^messaging\/(adapters\/rpc-batch-claim|app\/(claim|queue-|pending)|domain\/(claim|fair)|store\/queue)/,
  ],
  [
    "outcomes and receipts",
    /^messaging\/(app\/(update-messages|carrier-reports)|store\/messages|domain\/(outcome|rec))/,
  ],
  ["publish", /^(shared\/io\/(outbox|publisher)|messaging\/adapters\/events)/],
  ["decide", /^wallet\/domain/],
  ["settle", /^wallet\/(adapters\/events|app\/settle)/],
  ["holds and settlements", /^wallet\/(store|app\/(commit|command))/],
  ["SMPP", /^shared\/smpp/],
  ["report outcomes", /^carrier\/app\/outcome/],
  ["receipts", /^carrier\/(app\/(receipt|recent)|adapters\/receipt|domain\/receipt)/],
  ["submit", /^carrier\//],
  ["HTTP", /^webhook\/adapters\/http-client/],
  [
    "plan deliveries",
    /^webhook\/(adapters\/(events|proto-events)|app\/(deliver|endpoint-loader)|domain)/,
  ],
  ["store deliveries", /^webhook\/(store|app\/result-writer)/],
  ["attempt", /^webhook\/app/],
  ["answer", /^(tenant|sender-id|routing)\//],
  ["RPC", /^shared\/rpc/],
  ["logs, metrics, traces", /^shared\/io\/(log|metrics|trac|rpc-metrics|batch-span)/],
];

/** Libraries and the runtime, for samples in which no step is on the stack: its answer's way back. */
const LAYERS: readonly (readonly [layer: string, code: RegExp])[] = [
  ["MongoDB driver", /^npm:(mongodb|bson)$/],
  ["RPC", /^(npm:(@grpc|@bufbuild|@connectrpc)|node:internal\/http2)/],
  ["NATS client", /^npm:nats$/],
  ["Redis client", /^npm:(ioredis|redis)/],
  ["logs, metrics, traces", /^npm:(pino|prom-client|@opentelemetry)/],
  ["HTTP", /^(npm:|node:(_?http|https|_tls|tls))/],
  ["garbage collection", /^\(garbage/],
];

const REST = "event loop, sockets, kernel";
const IDLE = "(idle)";

/** Shares of the time in which the process was not idle, by step or layer; they add up to 1. */
export function sharesByStep(profile: CpuProfile): Map<string, number> {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map<number, ProfileNode>();
  for (const node of profile.nodes)
    for (const child of node.children ?? []) parents.set(child, node);
  const steps = new Map<number, string | undefined>();
  const spent = new Map<string, number>();
  let busy = 0;
  profile.samples.forEach((id, at) => {
    if (!steps.has(id)) steps.set(id, stepOf(stackOf(nodes.get(id), parents)));
    const step = steps.get(id);
    const us = profile.timeDeltas[at] ?? 0;
    if (step === undefined) return;
    busy += us;
    spent.set(step, (spent.get(step) ?? 0) + us);
  });
  return new Map([...spent].map(([step, us]) => [step, us / busy]));
}

/** The code on a stack, innermost first. */
function stackOf(
  innermost: ProfileNode | undefined,
  parents: ReadonlyMap<number, ProfileNode>,
): string[] {
  const stack: string[] = [];
  for (let node = innermost; node !== undefined; node = parents.get(node.id)) {
    stack.push(codeOf(node));
  }
  return stack;
}

/** `wallet/events.ts`, `npm:mongodb`, `node:net`, or V8's own name such as `(idle)`. */
function codeOf({ callFrame: { url, functionName } }: ProfileNode): string {
  if (url === "") return functionName;
  const library = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (library !== undefined) return `npm:${library}`;
  return url.replace(/.*\/services\//, "").replace(/.*\/gateway\//, "gateway/");
}

/** The step of a stack: the innermost file that is one; undefined when the process was idle. */
function stepOf(stack: readonly string[]): string | undefined {
  if (stack[0] === IDLE) return undefined;
  return firstMatch(STEPS, stack) ?? firstMatch(LAYERS, stack) ?? REST;
}

function firstMatch(
  table: readonly (readonly [string, RegExp])[],
  stack: readonly string[],
): string | undefined {
  for (const code of stack) {
    const match = table.find(([, pattern]) => pattern.test(code));
    if (match !== undefined) return match[0];
  }
  return undefined;
}
