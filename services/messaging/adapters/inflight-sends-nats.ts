/**
 * Queries between replicas about in-flight sends (`app/inflight-sends.ts`), on NATS core. A replica with such sends
 * answers at once, and again when they have ended. A replica without them does not answer, so a short silence
 * means none. After a lost message a list may miss a send that another replica was just storing.
 */
import type { NatsConnection } from "nats";
import { startDeadlineTimer } from "../../shared/flow/deadline-timer.ts";
import { openPublisher, readJson, subscribe } from "../../shared/io/best-effort-pubsub.ts";
import type { InflightPeers } from "../app/inflight-sends.ts";

/** Querying replica, number of the query, tenant, instant in milliseconds since 1970. */
type Query = readonly [from: string, number: number, tenantId: string, beforeMs: number];
/** Number of the query, answering replica, whether its sends have ended. */
type Answer = readonly [number: number, by: string, isEnded: boolean];

const ASK = "messaging.under_way";
/** A message on NATS core takes 1 to 2 ms; a busy replica may take longer to answer. */
const SILENCE_MS = 25;
/** No query waits longer for an answer. */
const ANSWER_MAX_MS = 10_000;

/** Opens the queries and answers of one replica on a NATS connection. */
export function openInflightPeers(connection: NatsConnection, replica: string): InflightPeers {
  const send = openPublisher(connection);
  const asked = new Map<number, (by: string, isEnded: boolean) => void>();
  let count = 0;
  subscribe(connection, `${ASK}.${replica}`, (message) => {
    const answer = readAnswer(message.string());
    if (answer !== undefined) asked.get(answer[0])?.(answer[1], answer[2]);
  });

  return {
    ended(tenantId, beforeMs, limitMs) {
      count += 1;
      const number = count;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const busy = new Set<string>();
      let isSilenceOver = false;
      const silence = startDeadlineTimer(SILENCE_MS, () => {
        isSilenceOver = true;
        if (busy.size === 0) finish(true);
      });
      const limit = setTimeout(() => finish(false), limitMs);
      function finish(areEnded: boolean): void {
        asked.delete(number);
        clearTimeout(silence);
        clearTimeout(limit);
        resolve(areEnded);
      }
      asked.set(number, (by, isEnded) => {
        if (isEnded) busy.delete(by);
        else busy.add(by);
        if (isSilenceOver && busy.size === 0) finish(true);
      });
      send(ASK, JSON.stringify([replica, number, tenantId, beforeMs] satisfies Query));
      return promise;
    },
    onQuery(ended) {
      subscribe(connection, ASK, (message) => {
        const query = readQuery(message.string());
        if (query === undefined || query[0] === replica) return;
        const [from, number, tenantId, beforeMs] = query;
        const left = ended(tenantId, beforeMs, ANSWER_MAX_MS);
        if (left === undefined) return;
        const answer = (isEnded: boolean) =>
          send(`${ASK}.${from}`, JSON.stringify([number, replica, isEnded] satisfies Answer));
        answer(false);
        void left.then((areEnded) => areEnded && answer(true));
      });
    },
  };
}

/** Parses a query; undefined if it is malformed. */
export function readQuery(text: string): Query | undefined {
  const [from, number, tenantId, beforeMs] = readList(text);
  const isOne = typeof from === "string" && /^[\w-]+$/.test(from) && typeof tenantId === "string";
  if (!isOne || typeof number !== "number" || typeof beforeMs !== "number") return undefined;
  return [from, number, tenantId, beforeMs];
}

function readAnswer(text: string): Answer | undefined {
  const [number, by, isEnded] = readList(text);
  if (typeof number !== "number" || typeof by !== "string" || typeof isEnded !== "boolean") {
    return undefined;
  }
  return [number, by, isEnded];
}

function readList(text: string): unknown[] {
  return readJson(text, Array.isArray) ?? [];
}
