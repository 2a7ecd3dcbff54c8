import type { PduBody } from "../../shared/smpp/pdu.ts";
import type { RequestOutcome } from "../../shared/smpp/request-window.ts";
import type { Session } from "../../shared/smpp/session.ts";
import type { Tlvs } from "../../shared/smpp/tlvs.ts";
import type { ReceiptCounts } from "./counters.ts";

/** A receipt or a message from a handset on its way to an ESME. */
export interface Delivery {
  systemId: string;
  body: Partial<PduBody<"deliver_sm">>;
  tlvs: Tlvs | undefined;
  attempts: number;
}

/** The part of the simulator that the deliveries need. */
export interface DeliveryPort {
  /** The next session of this ESME that takes deliveries and has room in its window. */
  pickSession(systemId: string): Session | undefined;
  resendMs(): number;
  counts(): ReceiptCounts;
}

/** A queue whose first `head` items have left. */
interface Fifo {
  items: Delivery[];
  head: number;
}

const ATTEMPTS_MAX = 1000;

/**
 * Sends deliveries over bound sessions, and sends a delivery again that was refused, not answered, or lost with its
 * link. At most `waitingMax` wait; further ones are dropped and counted.
 */
export class Deliveries {
  readonly #port: DeliveryPort;
  readonly #waitingMax: number;
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #ready = new Map<string, Fifo>();
  #waiting = 0;
  /** Incremented by `clear`, so that answers to earlier deliveries are ignored. */
  #generation = 0;
  #isClosed = false;

  constructor(port: DeliveryPort, waitingMax = 500_000) {
    this.#port = port;
    this.#waitingMax = waitingMax;
  }

  /** Deliveries that are not acknowledged yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Delivers after a delay, and again until the ESME acknowledges. */
  add(delivery: Delivery, afterMs: number): void {
    if (this.#isClosed) return;
    if (this.#waiting >= this.#waitingMax) {
      this.#port.counts().dropped++;
      return;
    }
    this.#waiting++;
    this.#schedule(delivery, afterMs);
  }

  /** Sends waiting deliveries of an ESME, for example after it has bound. */
  pump(systemId: string): void {
    const queue = this.#ready.get(systemId);
    if (queue === undefined || this.#isClosed) return;
    while (queue.head < queue.items.length) {
      const session = this.#port.pickSession(systemId);
      if (session === undefined) break;
      this.#send(session, queue.items[queue.head++] as Delivery);
    }
    if (queue.head === queue.items.length) this.#ready.delete(systemId);
    else if (queue.head > 1000 && queue.head * 2 > queue.items.length) {
      queue.items = queue.items.slice(queue.head);
      queue.head = 0;
    }
  }

  /** Drops all waiting deliveries. */
  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#ready.clear();
    this.#waiting = 0;
    this.#generation++;
  }

  close(): void {
    this.#isClosed = true;
    this.clear();
  }

  #schedule(delivery: Delivery, afterMs: number): void {
    if (afterMs <= 0) {
      this.#makeReady(delivery);
      return;
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#makeReady(delivery);
    }, afterMs);
    this.#timers.add(timer);
  }

  #makeReady(delivery: Delivery): void {
    const queue = this.#ready.get(delivery.systemId);
    if (queue === undefined) this.#ready.set(delivery.systemId, { items: [delivery], head: 0 });
    else queue.items.push(delivery);
    this.pump(delivery.systemId);
  }

  #send(session: Session, delivery: Delivery): void {
    const counts = this.#port.counts();
    if (delivery.attempts++ === 0) counts.sent++;
    else counts.resent++;
    const generation = this.#generation;
    void session.request("deliver_sm", delivery.body, delivery.tlvs).then((outcome) => {
      if (generation === this.#generation && !this.#isClosed) this.#onOutcome(delivery, outcome);
    });
  }

  #onOutcome(delivery: Delivery, outcome: RequestOutcome): void {
    const isTaken = outcome.kind === "answered" && outcome.response.status === 0;
    if (!isTaken && delivery.attempts < ATTEMPTS_MAX) {
      this.#schedule(delivery, this.#port.resendMs());
      return;
    }
    this.#waiting--;
    if (isTaken) this.#port.counts().acknowledged++;
    else this.#port.counts().dropped++;
    this.pump(delivery.systemId);
  }
}
