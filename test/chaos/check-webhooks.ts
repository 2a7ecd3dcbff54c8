/** Compares the requests to the customers' webhook servers with the messages' histories (invariants 6, 9). */
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { FailedDelivery, MessageRow } from "./database-reader.ts";
import { type Endpoint, HANGING_KINDS, HEALTHY_KINDS, type Hook, readEvent } from "./receivers.ts";
import type { Backlog } from "./webhook-backlog.ts";

const ANNOUNCED = new Set([
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
]);

/** Failures of an attempt that are not the endpoint's. */
const UNREACHED = new Set(["timeout", "connection", "tls"]);

/**
 * Deliveries whose whole schedule passed without reaching a healthy endpoint, as `<message> <status>
 * <endpoint>`: the machine was too busy for the receiver to respond. The service did its part. An
 * endpoint that refuses each delivery once may have refused.
 */
export function givenUp(
  failed: readonly FailedDelivery[],
  endpoints: readonly Endpoint[],
  attemptsMax: number,
): ReadonlySet<string> {
  const flaky = new Set(endpoints.filter(({ kind }) => kind === "flaky").map(({ id }) => id));
  return new Set(
    failed
      .filter(({ attempts }) => attempts.length >= attemptsMax)
      .filter(({ attempts, endpoint_id }) => {
        const reached = attempts.filter(({ error }) => !UNREACHED.has(error)).length;
        return reached <= (flaky.has(endpoint_id) ? 1 : 0);
      })
      .map(({ body, endpoint_id }) => {
        const { messageId, status } = readEvent(body);
        return `${messageId} ${status} ${endpoint_id}`;
      }),
  );
}

/** The most such deliveries on a machine that is not overloaded; measured: none. */
const UNREACHED_SHARE_MAX = 0.001;
const UNREACHED_ALWAYS_MAX = 10;

/** The excused deliveries among those given up, and the note about them. */
export function excuse(
  unreached: ReadonlySet<string>,
  deliveries: number,
  isOverloaded: boolean,
): { readonly excused: ReadonlySet<string>; readonly notes: readonly FoundBreach[] } {
  const most = Math.max(UNREACHED_ALWAYS_MAX, Math.floor(deliveries * UNREACHED_SHARE_MAX));
  if (unreached.size === 0 || (unreached.size > most && !isOverloaded)) {
    return { excused: new Set(), notes: [] };
  }
  const why = isOverloaded ? "the machine is overloaded" : `up to ${most} may be`;
  const what = `${unreached.size} deliveries given up, untaken: nothing more reached their endpoints (${why})`;
  return { excused: unreached, notes: [{ invariant: 6, what, ids: [...unreached].slice(0, 20) }] };
}

/**
 * Each healthy endpoint of a tenant accepted each change of its mode, under one event id and signed; no endpoint of
 * another tenant or mode received it. A refused request does not count as accepted.
 */
export function checkWebhooks(
  messages: readonly MessageRow[],
  endpoints: readonly Endpoint[],
  hooks: readonly Hook[],
  excused: ReadonlySet<string> = new Set(),
): FoundBreach[] {
  const byPath = new Map(endpoints.map((endpoint) => [endpoint.path, endpoint]));
  const byMessage = new Map(messages.map((message) => [message._id, message]));
  const taken = new Set<string>();
  const events = new Map<string, string>();
  const deliveries = new Map<string, string>();
  const found: FoundBreach[] = [];
  const add = (invariant: number, what: string, ...ids: string[]) =>
    void found.push({ invariant, what, ids });

  for (const hook of hooks) {
    const { path, messageId, status, eventId, deliveryId } = hook;
    const endpoint = byPath.get(path);
    if (endpoint === undefined) {
      add(6, "a webhook to a path that no endpoint has", path, eventId);
      continue;
    }
    const { kind, id, tenantId } = endpoint;
    if (kind === "disabled" || kind === "deleted") add(6, `a webhook to a ${kind} endpoint`, id);
    if (!hook.isSigned) add(6, "a webhook whose signature is wrong", deliveryId);
    if (hook.tenantId !== tenantId) add(9, "a webhook of another tenant", deliveryId, id);
    checkEvent(hook, byMessage.get(messageId), endpoint, add);
    const change = `${messageId} ${status}`;
    if ((events.get(change) ?? eventId) !== eventId) {
      add(6, `two event ids for ${status}`, messageId, eventId, events.get(change) ?? "");
    }
    events.set(change, eventId);
    const delivery = `${eventId} ${id}`;
    if ((deliveries.get(delivery) ?? deliveryId) !== deliveryId) {
      add(6, "two delivery ids for one event and endpoint", eventId, deliveryId);
    }
    deliveries.set(delivery, deliveryId);
    if (hook.answer >= 200 && hook.answer < 300) taken.add(`${change} ${id}`);
  }
  const healthy = Map.groupBy(healthyOf(endpoints), ({ tenantId }) => tenantId);
  for (const { _id, tenant_id, mode, history } of messages) {
    const own = (healthy.get(tenant_id) ?? []).filter((endpoint) => endpoint.mode === mode);
    for (const { status } of history.slice(1)) {
      if (!ANNOUNCED.has(status)) continue;
      for (const { id, kind } of own) {
        const delivery = `${_id} ${status} ${id}`;
        if (!taken.has(delivery) && !excused.has(delivery)) {
          add(6, `${status} was never taken by a healthy endpoint (${kind})`, _id, id);
        }
      }
    }
  }
  return found;
}

/**
 * How late a retry may come, apart from outages. The longest other wait is an expiring lease, plus a margin
 * for a busy machine.
 */
const LATE_MS_MAX = 30_000;

/** The largest lateness of retries: by the clock, and minus outages. */
type Lateness = {
  readonly breaches: FoundBreach[];
  /** The number of retries compared. */
  readonly retries: number;
  readonly latestMs: number;
  readonly latestUnexplainedMs: number;
};

/**
 * The lateness of retries by the receivers' clock, where the attempt before is known. Retries to hanging
 * endpoints wait for each other's slots and are not counted. A `flaky` endpoint must have retries;
 * without any, nothing was compared.
 */
export function checkLateness(
  endpoints: readonly Endpoint[],
  hooks: readonly Hook[],
  retryDelaysMs: readonly number[],
  backlog: Backlog,
): Lateness {
  const hanging = endpoints.filter(({ kind }) => HANGING_KINDS.has(kind));
  const left = new Set(hanging.map(({ path }) => path));
  const before = new Map<string, Hook>();
  const late = new Map<string, { latestMs: number; count: number; deliveryId: string }>();
  let retries = 0;
  let latestMs = 0;
  let latestUnexplainedMs = 0;
  for (const hook of hooks) {
    const { path, deliveryId, attempt, atMs } = hook;
    const last = before.get(deliveryId);
    before.set(deliveryId, hook);
    if (last === undefined || last.attempt !== attempt - 1 || left.has(path)) continue;
    retries += 1;
    const dueMs = last.atMs + (retryDelaysMs[last.attempt - 1] ?? 0);
    const lateMs = atMs - dueMs;
    latestMs = Math.max(latestMs, lateMs);
    // Most are on time: skip them, they cannot be the latest or a breach.
    if (lateMs <= Math.min(latestUnexplainedMs, LATE_MS_MAX)) continue;
    const unexplainedMs = lateMs - backlog(dueMs, atMs);
    latestUnexplainedMs = Math.max(latestUnexplainedMs, unexplainedMs);
    if (unexplainedMs <= LATE_MS_MAX) continue;
    const { count = 0, latestMs: worstMs = 0 } = late.get(path) ?? {};
    late.set(path, { count: count + 1, latestMs: Math.max(worstMs, unexplainedMs), deliveryId });
  }
  const breaches = [...late].map(([path, { count, latestMs: worstMs, deliveryId }]) => {
    const most = `${Math.round(worstMs / 1000)} s`;
    const what = `${count} retries to ${path} came up to ${most} later than outages explain`;
    return { invariant: 6, what, ids: [deliveryId] };
  });
  if (retries === 0 && endpoints.some(({ kind }) => kind === "flaky")) {
    breaches.push({ invariant: 6, what: "no retry came anywhere", ids: [] });
  }
  return { breaches, retries, latestMs, latestUnexplainedMs };
}

/** Endpoints that accept every event in the end. */
export function healthyOf(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.filter(({ kind }) => HEALTHY_KINDS.has(kind));
}

function checkEvent(
  { messageId, status, previous, deliveryId }: Hook,
  message: MessageRow | undefined,
  { tenantId, mode }: Endpoint,
  add: (invariant: number, what: string, ...ids: string[]) => void,
): void {
  if (message === undefined) {
    add(6, "a webhook about a message that does not exist", messageId, deliveryId);
    return;
  }
  if (message.tenant_id !== tenantId) add(9, "a webhook about another tenant's message", messageId);
  if (message.mode !== mode)
    add(9, `a webhook about a ${message.mode} message`, messageId, deliveryId);
  const path = message.history.map((change) => change.status);
  const at = path.indexOf(status);
  if (at < 1 || path[at - 1] !== previous) {
    add(6, `announced ${previous} > ${status}, which is not its path`, messageId, deliveryId);
  }
}
