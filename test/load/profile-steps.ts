/** What a process was doing, sample by sample: the step of a message's way, or the layer below it. */
import type { CpuProfile, ProfileNode } from "./v8-profile.ts";

/** Files of this project, by the step that they are. The first that fits counts. */
const STEPS: readonly (readonly [step: string, files: RegExp])[] = [
  ["key, address, rate, concurrency limit", /^gateway\/(auth|rate-limit|idempotency|admit|load-gate|room|shed)/],
  ["check and render bodies", /^gateway\/(schemas|routes|render|json|body|problem)/],
  ["send batcher", /^gateway\/send-together/],
  ["HTTP", /^gateway\//],
  ["accept", /^messaging\/(send-many|service\/(accept|commit-sends|idempotency))/],
  ["accept", /^messaging\/(store\/sends|domain\/(draft|send))/],
  ["claim", /^messaging\/(service\/(claim|queue-)|domain\/claim|store\/queue)/],
  ["outcomes and receipts", /^messaging\/(service\/changes|store\/messages|domain\/(outcome|rec))/],
  ["publish", /^(shared\/io\/(outbox|publisher)|messaging\/events)/],
  ["decide", /^wallet\/domain/],
  ["settle", /^wallet\/(events|service\/settle)/],
  ["holds and settlements", /^wallet\/(store|service\/(flush|command))/],
  ["SMPP", /^carrier\/smpp/],
  ["tell outcomes", /^carrier\/outcomes/],
  ["receipts", /^carrier\/(receipt|recent|events)/],
  ["submit", /^carrier\//],
  ["plan deliveries", /^webhook\/(events|service\/(deliver|endpoint-reader)|domain)/],
  ["store deliveries", /^webhook\/(store|service\/settler)/],
  ["HTTP", /^webhook\/sender/],
  ["attempt", /^webhook\/service/],
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
