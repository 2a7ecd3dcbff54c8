/**
 * The customers: orders arrive at a steady rate, however slow the service is. Customers send, cancel,
 * repeat requests, reuse a key for another request, read, and try to read other tenants' messages. A
 * response that breaks a promise is a breach at once.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { seededRandom } from "../../services/smsc-simulator/domain/latency.ts";
import type { FoundBreach } from "../../services/smsctl/check/report.ts";
import type { RestAnswer } from "../support/customer.ts";
import type { Client } from "./client.ts";
import { createOrderSource, type Order } from "./orders.ts";
import type { Tenant } from "./tenants.ts";

/** An order and the responses to it. */
export type Sent = {
  readonly order: Order;
  readonly tenantId: string;
  readonly isTest: boolean;
  /** Sent twice concurrently: a refusal of one says nothing about the other. */
  readonly isTwin: boolean;
  /** The final response, if any. */
  answer?: {
    readonly status: number;
    readonly code: string;
    readonly messages: readonly Reported[];
  };
};

/** A message as the response described it. */
export type Reported = { readonly id: string; readonly to: string; readonly status: string };

/** A cancel and the response to it. */
export type Cancel = { readonly messageId: string; answer?: { status: number; code: string } };

/** The customers at work. */
export type Customers = {
  readonly sent: readonly Sent[];
  readonly cancels: readonly Cancel[];
  readonly breaches: readonly FoundBreach[];
  /** Stops ordering; returns when every request has its final response. */
  finish(): Promise<void>;
};

const IN_FLIGHT_MAX = 400;
const IN_FLIGHT_OF_A_TENANT_MAX = 50;

/** Starts the customers. */
export function startCustomers(options: {
  readonly client: Client;
  readonly tenants: readonly Tenant[];
  readonly seed: number;
  readonly ordersPerSecond: number;
}): Customers {
  const { client, tenants, ordersPerSecond } = options;
  const random = seededRandom(options.seed + 1);
  const book = createOrderSource(random, `c${options.seed}`);
  const sent: Sent[] = [];
  const cancels: Cancel[] = [];
  const breaches: FoundBreach[] = [];
  const halt = new AbortController();
  const open = new Set<Promise<void>>();
  const openOf = new Map<string, number>();

  function breach(invariant: number, what: string, ...ids: string[]): void {
    breaches.push({ invariant, what, ids });
  }

  async function send(tenant: Tenant): Promise<void> {
    const order = book.next();
    const isTest = random() < 0.05;
    const isTwin = random() < 0.05;
    const dice = [random(), random(), random()] as const;
    const record: Sent = { order, tenantId: tenant.id, isTest, isTwin };
    sent.push(record);
    const ask = {
      tenant,
      apiKey: isTest ? tenant.testKey : tenant.key,
      reference: order.reference,
      method: "POST" as const,
      paths: order.paths,
      key: `k-${order.reference}`,
      body: order.body,
    };
    const answers = await Promise.all(
      isTwin ? [client.ask(ask), client.ask(ask)] : [client.ask(ask)],
    );
    const good = answers.filter((answer) => answer?.status === 202);
    const answer = good[0] ?? answers[0];
    if (answer === undefined) return;
    const { status, body } = answer;
    record.answer = { status, code: body.code ?? "", messages: messagesOf(order, answer) };
    if (status !== 202) return checkRefusal(record, answer);
    const [first, second] = good;
    if (second !== undefined && !isDeepStrictEqual(first?.body, second.body)) {
      breach(4, "one key has two answers", order.reference);
    }
    checkAcceptance(record, answer);
    await followUp(record, ask, answer, dice);
  }

  function checkRefusal({ order, tenantId }: Sent, { status, body }: RestAnswer): void {
    const isPoor = tenants.some(({ id, isPoor: poor }) => poor && id === tenantId);
    if (status === 402 && isPoor) return;
    // A scheduled time may have passed while the client was retrying.
    if (status === 422 && order.isScheduled) return;
    const what = `a good order was refused: ${status} ${body.code}`;
    breach(3, what, order.reference, String(body.request_id));
  }

  function checkAcceptance({ order, answer }: Sent, { body }: RestAnswer): void {
    const good = order.recipients.filter(({ isGood }) => isGood).map(({ to }) => to);
    const taken = (answer?.messages ?? [])
      .filter(({ status }) => status !== "rejected")
      .map(({ to }) => to);
    if (!isDeepStrictEqual(good, taken)) {
      breach(3, "the answer does not list the recipients", order.reference);
    }
    if (JSON.stringify(body).includes("undefined")) breach(3, "odd answer", order.reference);
  }

  async function followUp(
    record: Sent,
    ask: Parameters<Client["ask"]>[0],
    first: RestAnswer,
    [whether, which, when]: readonly [number, number, number],
  ): Promise<void> {
    const { reference, isScheduled } = record.order;
    const messageId = record.answer?.messages.find(({ status }) => status !== "rejected")?.id ?? "";
    if (isScheduled && whether < 0.6) {
      await pause(when * 12_000);
      return cancel(record, ask, messageId);
    }
    if (whether > 0.4) return;
    if (which < 0.3) {
      await pause(when * 5000);
      const again = await client.ask(ask);
      if (again === undefined) return;
      if (again.status !== 202 || !isDeepStrictEqual(again.body, first.body)) {
        breach(4, `a repeat was answered differently: ${again.status}`, reference, messageId);
      } else if (again.headers.get("idempotent-replayed") !== "true") {
        breach(4, "a repeat is not marked as replayed", reference, messageId);
      }
    } else if (which < 0.45) {
      const other = await client.ask({ ...ask, body: { ...record.order.body, from: "OTHER" } });
      if (other !== undefined && other.body.code !== "idempotency_key_reused") {
        breach(4, `a used key with another body: ${other.status}`, reference, messageId);
      }
    } else if (which < 0.7) {
      const read = await client.ask(readOf(ask, messageId, ask.apiKey));
      const data = read?.body.data as { id?: string; client_reference?: string } | undefined;
      if (read !== undefined && (data?.id !== messageId || data.client_reference !== reference)) {
        breach(3, `an accepted message is not there: ${read.status}`, reference, messageId);
      }
    } else if (which < 0.85) {
      const others = tenants.filter(({ id }) => id !== record.tenantId);
      const thief = others[Math.floor(when * others.length)];
      if (thief === undefined) return;
      const read = await client.ask(readOf({ ...ask, tenant: thief }, messageId, thief.key));
      if (read !== undefined && read.status !== 404) {
        breach(9, `another tenant's message was answered with ${read.status}`, messageId);
      }
    } else if (!isScheduled) {
      await cancel(record, ask, messageId);
    }
  }

  async function cancel(
    { order }: Sent,
    ask: Parameters<Client["ask"]>[0],
    messageId: string,
  ): Promise<void> {
    const record: Cancel = { messageId };
    cancels.push(record);
    const { reference } = order;
    const paths = [`/v1/messages/${messageId}/cancel`];
    const answer = await client.ask({ ...ask, paths, key: `x-${reference}`, body: {} });
    if (answer === undefined) return;
    const { status, body } = answer;
    record.answer = { status, code: body.code ?? "" };
    const shown = (body.data as { status?: string } | undefined)?.status;
    const isRight =
      (status === 200 && shown === "cancelled") || body.code === "invalid_state_transition";
    if (!isRight)
      breach(5, `a cancel was answered with ${status} ${shown ?? body.code}`, messageId);
  }

  function pause(ms: number): Promise<unknown> {
    return sleep(ms, undefined, { signal: halt.signal }).catch(() => undefined);
  }

  async function arrive(): Promise<void> {
    while (!halt.signal.aborted) {
      await pause((-Math.log(1 - random()) * 1000) / ordersPerSecond);
      const tenant = tenants[Math.floor(random() * tenants.length)];
      if (tenant === undefined || halt.signal.aborted || open.size >= IN_FLIGHT_MAX) continue;
      const busy = openOf.get(tenant.id) ?? 0;
      if (busy >= IN_FLIGHT_OF_A_TENANT_MAX) continue;
      openOf.set(tenant.id, busy + 1);
      const work = send(tenant).finally(() => {
        open.delete(work);
        openOf.set(tenant.id, (openOf.get(tenant.id) ?? 1) - 1);
      });
      open.add(work);
    }
  }
  const arriving = arrive();

  return {
    sent,
    cancels,
    breaches,
    async finish() {
      halt.abort();
      await arriving;
      await Promise.all(open);
    },
  };
}

function readOf(
  ask: Parameters<Client["ask"]>[0],
  messageId: string,
  apiKey: string,
): Parameters<Client["ask"]>[0] {
  const { tenant, reference } = ask;
  return { tenant, reference, apiKey, method: "GET", paths: [`/v1/messages/${messageId}`] };
}

function messagesOf(order: Order, { status, body }: RestAnswer): Reported[] {
  if (status !== 202) return [];
  const data = body.data as Reported & { readonly messages?: readonly Reported[] };
  const list = order.kind === "single" ? [data] : (data.messages ?? []);
  return list.map(({ id, to, status: shown }) => ({ id, to, status: shown }));
}
