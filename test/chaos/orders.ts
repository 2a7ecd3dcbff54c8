/** Random sends of customers; each recipient number is used once. */
import type { Random } from "../../services/smsc-simulator/domain/latency.ts";
import { SENDER } from "./tenants.ts";

/** A word that is in every body and must be in no log. */
export const MARKER = "Zebrafinch";

/** One recipient of an order, in submitted order. */
export type Recipient = {
  readonly to: string;
  /** False for those that the service must reject. */
  readonly isGood: boolean;
};

/** A customer's send; only its messages have its reference. */
export type Order = {
  readonly kind: "single" | "bulk" | "batch";
  readonly reference: string;
  readonly paths: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
  readonly recipients: readonly Recipient[];
  readonly isScheduled: boolean;
};

/** A generator of orders. */
export type OrderSource = { next(): Order };

/** The deprecated path shares keys with the new one, so a retry may go to either. */
const SINGLE_PATHS = ["/v1/sms/messages", "/v1/messages"];
const OPENINGS = ["803", "806", "813", "703", "903", "816", "706", "810"];
const PLAIN_ENDINGS = 9900;
/** The test numbers: what the carrier does is decided by the last four digits. */
const TEST_ENDINGS = Array.from({ length: 15 }, (_, at) => 9901 + at);
const TEST_NUMBER_SHARE = 0.1;

/** True for a number with the carrier's default behaviour. */
export function isPlainNumber(to: string): boolean {
  return Number(to.slice(-4)) < PLAIN_ENDINGS;
}

/** `run` separates the references of different runs. */
export function createOrderSource(random: Random, run: string): OrderSource {
  let orders = 0;
  const used = new Map<number, number>();

  /** A fresh number with the wanted ending: each ending counts through the digits before it. */
  function number(): string {
    const isTest = random() < TEST_NUMBER_SHARE;
    const ending = isTest
      ? (TEST_ENDINGS[Math.floor(random() * TEST_ENDINGS.length)] ?? 0)
      : Math.floor(random() * PLAIN_ENDINGS);
    const count = used.get(ending) ?? 0;
    used.set(ending, count + 1);
    const opening = OPENINGS[Math.floor(count / 1000) % OPENINGS.length];
    const middle = String(count % 1000).padStart(3, "0");
    return `+234${opening}${middle}${String(ending).padStart(4, "0")}`;
  }

  function text(reference: string): string {
    const start = `${MARKER} ${reference} `;
    const choice = random();
    if (choice < 0.06) return start + "long ".repeat(50);
    if (choice < 0.1) return `${start}\u20a6 ${"wide ".repeat(20)}`;
    return start.trim();
  }

  /** Valid recipients, and sometimes an invalid or repeated one. */
  function recipients(count: number): Recipient[] {
    const list: Recipient[] = [];
    for (let at = 0; at < count; at += 1) {
      const choice = random();
      const before = list.find(({ isGood }) => isGood);
      if (choice < 0.03) list.push({ to: `12${at}`, isGood: false });
      else if (choice < 0.06 && before !== undefined)
        list.push({ to: before.to.replace("+234", "0"), isGood: false });
      else list.push({ to: number(), isGood: true });
    }
    return list;
  }

  function schedule(): { readonly send_at?: string } {
    const inMs = 4000 + random() * 16_000;
    return { send_at: new Date(Date.now() + inMs).toISOString() };
  }

  return {
    next() {
      orders += 1;
      const reference = `${run}-${orders}`;
      const choice = random();
      const isScheduled = random() < 0.15;
      const common = { from: SENDER, ...(isScheduled ? schedule() : {}) };
      if (choice < 0.7) {
        const to = number();
        const body = { ...common, to, body: text(reference), client_reference: reference };
        const kind = "single";
        return {
          kind,
          reference,
          paths: SINGLE_PATHS,
          body,
          recipients: [{ to, isGood: true }],
          isScheduled,
        };
      }
      const list = [{ to: number(), isGood: true }, ...recipients(1 + Math.floor(random() * 12))];
      if (choice < 0.88) {
        const to = list.map((recipient) => recipient.to);
        const body = { ...common, to, body: text(reference), client_reference: reference };
        const paths = ["/v1/sms/messages/bulk"];
        return { kind: "bulk", reference, paths, body, recipients: list, isScheduled };
      }
      const messages = list.map(({ to }) => ({
        to,
        body: text(reference),
        client_reference: reference,
      }));
      const body = { from: SENDER, messages };
      const paths = ["/v1/sms/messages/batch"];
      return { kind: "batch", reference, paths, body, recipients: list, isScheduled: false };
    },
  };
}
