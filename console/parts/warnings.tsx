import { campaigns, senderIds, wallet, webhooks } from "../api/console.ts";
import type { Endpoint } from "../api/types.ts";
import { describeHealth, endpointHealth } from "../core/endpoint-health.ts";
import { showMoney, toUnits } from "../core/money.ts";
import { pauseText } from "../core/pause-text.ts";
import { useSession } from "../core/session-context.ts";
import { useResource } from "../core/use-resource.ts";
import { AttentionList, type Problem } from "./attention-list.tsx";
import { ProblemBox } from "./common-parts.tsx";

const POLL_MS = 60_000;
const DAY_MS = 86_400_000;

/** The account's present problems. */
export function Warnings() {
  const { scopes } = useSession();
  const found = useResource("warnings", () => findWarnings(new Set(scopes)), POLL_MS);
  if (found.problem !== undefined) return <ProblemBox problem={found.problem} />;
  if (found.data === undefined) return null;
  if (found.data.length === 0) return <p class="fine">Nothing needs attention.</p>;
  return <AttentionList title="What needs attention" problems={found.data} />;
}

async function findWarnings(scopes: ReadonlySet<string>): Promise<readonly Problem[]> {
  const when = (scope: string, find: () => Promise<readonly Problem[]>) =>
    scopes.has(scope) ? find() : Promise.resolve([]);
  const found = await Promise.all([
    when("balance:read", () => lowBalance(scopes.has("wallet:read"))),
    when("webhooks:manage", failingEndpoints),
    when("campaigns:read", pausedCampaigns),
    when("sender_ids:read", refusedSenders),
  ]);
  return found.flat();
}

async function lowBalance(hasStatement: boolean): Promise<readonly Problem[]> {
  const { available, low_balance_threshold: low, currency } = await wallet.balance();
  if (toUnits(available) >= toUnits(low)) return [];
  const text = `The balance is low: ${showMoney(available, currency)} are available.`;
  return [{ text, path: hasStatement ? "/console/statement" : "/console/usage" }];
}

async function failingEndpoints(): Promise<readonly Problem[]> {
  const found = await Promise.all((await webhooks.list()).map(warnEndpoint));
  return found.flat();
}

async function warnEndpoint(endpoint: Endpoint): Promise<readonly Problem[]> {
  const { id, url, status, disabled_reason: reason } = endpoint;
  const path = `/console/webhooks/${id}`;
  if (status === "disabled") {
    if (reason === null) return [];
    return [{ text: `The webhook ${url} is off: ${reason.replaceAll("_", " ")}.`, path }];
  }
  const health = describeHealth(await readHealth(id));
  return health === undefined ? [] : [{ text: `The webhook ${url}: ${health}.`, path }];
}

/** The health of an endpoint in the last day. */
export async function readHealth(id: string) {
  const [failed, pending] = await Promise.all(
    ["failed", "pending"].map((status) => webhooks.deliveries(id, { status })),
  );
  return endpointHealth(failed?.data ?? [], pending?.data ?? [], Date.now() - DAY_MS);
}

async function pausedCampaigns(): Promise<readonly Problem[]> {
  const { data } = await campaigns.list({ status: "paused" });
  return data.map(({ id, name, pause_reason: reason }) => ({
    text: `The campaign ${name} is paused. ${pauseText(reason)}`,
    path: `/console/campaigns/${id}`,
  }));
}

async function refusedSenders(): Promise<readonly Problem[]> {
  const { data } = await senderIds.list();
  const path = "/console/sender-ids";
  const refused = data
    .filter(({ status }) => status === "rejected" || status === "suspended")
    .map(({ name, status, rejection_reason: reason }) => ({
      text: `The sender ID ${name} is ${status}${reason === null ? "." : `: ${reason}`}`,
      path,
    }));
  const isUsable = data.some(({ usable }) => usable);
  return isUsable ? refused : [...refused, { text: "No sender ID can be used yet.", path }];
}
