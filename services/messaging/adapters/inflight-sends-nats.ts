/**
 * Queries between replicas about in-flight sends (`app/inflight-sends.ts`), on NATS core. Each replica answers at once
 * whether it has such sends, and again when they have ended. A query waits for each replica that was seen in the last
 * ten minutes, also while it stands still for a moment. After a lost message a list may miss a send that another
 * replica was just storing.
 */
import type { NatsConnection } from "nats";
import { startDeadlineTimer } from "../../shared/flow/deadline-timer.ts";
import { openPublisher, readJson, subscribe } from "../../shared/io/best-effort-pubsub.ts";
import type { InflightPeers } from "../app/inflight-sends.ts";

/** A query: the querying replica, the query's number, the tenant, and an instant in milliseconds since 1970. */
type Query = readonly [from: string, number: number, tenantId: string, beforeMs: number];
/** An answer: the query's number, the answering replica, and whether that replica's sends have ended. */
type Answer = readonly [number: number, by: string, isEnded: boolean];

const ASK = "messaging.under_way";
/** A query waits this long for replicas that it does not know. A message on NATS core takes 1 to 2 ms. */
const SILENCE_MS = 25;
/** A query waits this long for the first answer of a known replica, and then forgets the replica. */
const STANDSTILL_MAX_MS = 1000;
/** How long a replica is known after it was last seen. */
const KNOWN_MS = 600_000;
/** An answering replica waits at most this long for the end of its sends; no query waits longer. */
const ANSWER_MAX_MS = 10_000;

/** Opens the queries and answers of one replica on a NATS connection. */
export function openInflightPeers(connection: NatsConnection, replica: string): InflightPeers {
  const send = openPublisher(connection);
  const asked = new Map<number, (by: string, isEnded: boolean) => void>();
  /** When each replica was last seen, on a monotonic clock. */
  const known = new Map<string, number>();
  let count = 0;
  subscribe(connection, `${ASK}.${replica}`, (message) => {
    const answer = readAnswer(message.string());
    if (answer === undefined) return;
    const [number, by, isEnded] = answer;
    known.set(by, performance.now());
    asked.get(number)?.(by, isEnded);
  });

  function knownReplicas(): string[] {
    const fromMs = performance.now() - KNOWN_MS;
    for (const [by, atMs] of known) if (atMs < fromMs) known.delete(by);
    return [...known.keys()];
  }

  return {
    ended(tenantId, beforeMs, limitMs) {
      count += 1;
      const number = count;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const silent = new Set(knownReplicas());
      const busy = new Set<string>();
      let isSilenceOver = false;
      const silence = startDeadlineTimer(SILENCE_MS, () => {
        isSilenceOver = true;
        finishIfEnded();
      });
      const standstill = startDeadlineTimer(STANDSTILL_MAX_MS, () => {
        for (const by of silent) known.delete(by);
        silent.clear();
        finishIfEnded();
      });
      const limit = setTimeout(() => finish(false), limitMs);
      function finishIfEnded(): void {
        if (isSilenceOver && silent.size === 0 && busy.size === 0) finish(true);
      }
      function finish(areEnded: boolean): void {
        asked.delete(number);
        for (const timer of [silence, standstill, limit]) clearTimeout(timer);
        resolve(areEnded);
      }
      asked.set(number, (by, isEnded) => {
        silent.delete(by);
        if (isEnded) busy.delete(by);
        else busy.add(by);
        finishIfEnded();
      });
      send(ASK, JSON.stringify([replica, number, tenantId, beforeMs] satisfies Query));
      return promise;
    },
    onQuery(ended) {
      subscribe(connection, ASK, (message) => {
        const query = readQuery(message.string());
        if (query === undefined || query[0] === replica) return;
        const [from, number, tenantId, beforeMs] = query;
        known.set(from, performance.now());
        const left = ended(tenantId, beforeMs, ANSWER_MAX_MS);
        const answer = (isEnded: boolean) =>
          send(`${ASK}.${from}`, JSON.stringify([number, replica, isEnded] satisfies Answer));
        answer(left === undefined);
        void left?.then((areEnded) => areEnded && answer(true));
      });
      // Query 0 waits for no answer: it and its answers make the replicas known to each other.
      send(ASK, JSON.stringify([replica, 0, "", 0] satisfies Query));
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
