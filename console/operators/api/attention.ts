import type { Problem } from "../../parts/attention-list.tsx";
import { word } from "../core/protobuf-json.ts";
import { DEAD_LETTERS } from "./dead-letters.ts";
import { rpc } from "./rpc.ts";
import type {
  BindHealth,
  CheckResult,
  Connector,
  DeadLetter,
  DeliveryHealth,
  Funding,
  QueueStats,
  SenderId,
} from "./types.ts";

const LETTERS_MAX = 1000;

/** Asks each service for the things that need an operator now. */
export async function attention(signal: AbortSignal) {
  const [
    { connectors, health, deliveries },
    { queues },
    letters,
    { senderIds },
    { fundings },
    { results },
  ] = await Promise.all([
    rpc<{ connectors: Connector[]; health: BindHealth[]; deliveries: DeliveryHealth[] }>(
      "RoutingService/ListConnectors",
      {},
      signal,
    ),
    rpc<{ queues: QueueStats[] }>("MessagingService/GetQueueStats", {}, signal),
    countLetters(signal),
    rpc<{ senderIds: SenderId[] }>(
      "SenderIdService/ListAllSenderIds",
      { statuses: ["SENDER_ID_STATUS_PENDING"], limit: 1000 },
      signal,
    ),
    rpc<{ fundings: Funding[] }>(
      "WalletService/ListFundings",
      { states: ["FUNDING_STATE_PENDING"], limit: 1000 },
      signal,
    ),
    rpc<{ results: CheckResult[] }>("TenantService/ListChecks", { limit: 1 }, signal),
  ]);
  return {
    items: [
      ...ofConnectors(connectors, health),
      ...ofDeliveries(deliveries),
      ...ofQueues(queues),
      ...ofLetters(letters),
      ...ofSenderIds(senderIds.length),
      ...ofFundings(fundings.length),
      ...ofChecks(results),
    ],
    waiting: sum(queues.map(({ waiting }) => Number(waiting))),
    sending: sum(queues.map(({ sending }) => Number(sending))),
    perSecond: sum(health.map(({ submitsPerSecond }) => submitsPerSecond)),
  };
}

async function countLetters(signal: AbortSignal): Promise<number> {
  const pages = await Promise.all(
    DEAD_LETTERS.map(({ list }) =>
      rpc<{ deadLetters: DeadLetter[] }>(list, { limit: LETTERS_MAX }, signal),
    ),
  );
  return sum(pages.map(({ deadLetters }) => deadLetters.length));
}

function ofConnectors(
  connectors: readonly Connector[],
  health: readonly BindHealth[],
): readonly Problem[] {
  const path = "/operators/connectors";
  return connectors.flatMap(({ id, state, type }) => {
    if (type === "CONNECTOR_TYPE_TEST") return [];
    const own = word(state, "CONNECTOR_STATE");
    if (own !== "active") return [{ text: `The connector ${id} is ${own}.`, path }];
    const links = health.filter(({ connectorId }) => connectorId === id);
    const isLinked = links.some(({ link }) => link === "bound");
    if (isLinked) return [];
    const why = lastErrorOf(links);
    return [{ text: `The connector ${id} has no link to its carrier${why}.`, path }];
  });
}

/** Why the links of a connector are down, as the newest report says. */
function lastErrorOf(links: readonly BindHealth[]): string {
  const newest = links
    .filter(({ lastError }) => lastError !== "")
    .sort((a, b) => Number(b.reportedAtMs) - Number(a.reportedAtMs))[0];
  if (newest !== undefined) return `: ${newest.lastError}`;
  return links.length === 0 ? ": no carrier process reports one" : "";
}

/** Carriers that take messages and deliver too few of them. */
function ofDeliveries(deliveries: readonly DeliveryHealth[] = []): readonly Problem[] {
  const path = "/operators/connectors";
  return deliveries.flatMap(({ connectorId, country, state, rate }) => {
    const place = country === "" ? connectorId : `${connectorId} (${country})`;
    if (state === "no_receipts") {
      return [{ text: `The connector ${place} gets no delivery receipts any more.`, path }];
    }
    if (state !== "low") return [];
    const share = rate === undefined ? "fewer" : `${Math.round(rate * 100)} %`;
    return [{ text: `The connector ${place} delivers ${share}, less than usual.`, path }];
  });
}

/** A message that has waited for this long is late. */
const LATE_MS = 60_000;

function ofQueues(queues: readonly QueueStats[]): readonly Problem[] {
  const late = queues.filter(({ oldestWaitingMs }) => Number(oldestWaitingMs) > LATE_MS);
  return late.map(({ connectorId, oldestWaitingMs }) => {
    const seconds = Math.round(Number(oldestWaitingMs) / 1000);
    const place = connectorId || "no connector";
    const text = `A message has waited for ${seconds} s at ${place}.`;
    return { text, path: "/operators/connectors" };
  });
}

function ofLetters(count: number): readonly Problem[] {
  if (count === 0) return [];
  const text = count === 1 ? "An event was put aside." : `${count} events were put aside.`;
  return [{ text, path: "/operators/put-aside" }];
}

function ofSenderIds(count: number): readonly Problem[] {
  if (count === 0) return [];
  const text = count === 1 ? "A sender ID waits" : `${count} sender IDs wait`;
  return [{ text: `${text} for a review.`, path: "/operators/sender-ids" }];
}

function ofFundings(count: number): readonly Problem[] {
  if (count === 0) return [];
  const text = count === 1 ? "A funding waits" : `${count} fundings wait`;
  return [{ text: `${text} for a second person.`, path: "/operators/fundings" }];
}

function ofChecks([last]: readonly CheckResult[]): readonly Problem[] {
  if (last === undefined || last.ok) return [];
  return [{ text: "The last check found something, or did not end.", path: "/operators/checks" }];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
