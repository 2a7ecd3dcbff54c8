import type { TlsOptions } from "node:tls";
import type { Pdu } from "../../shared/smpp/pdu.ts";
import { type BindRequest, startSmppServer } from "../../shared/smpp/server.ts";
import type { Session } from "../../shared/smpp/session.ts";
import { STATUS } from "../../shared/smpp/statuses.ts";
import { startControl } from "../adapters/control.ts";
import { BehaviourSwitch } from "../domain/behaviour.ts";
import { isSubmit } from "../domain/deduplicate.ts";
import { deliverBeforeBind, outbind } from "../domain/malformed-pdus.ts";
import { Counters } from "./counters.ts";
import { Deliveries } from "./deliveries.ts";
import { MessageStore } from "./message-store.ts";
import { type HandsetMessage, handsetDeliveries } from "./mobile-originated.ts";
import { answerOther } from "./non-submit-requests.ts";
import { Peers } from "./sessions.ts";
import { Submits } from "./submits.ts";

/** Where the simulator listens and whom it lets in. */
export interface SimulatorOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  controlPort: number;
  systemId: string;
  password: string;
  tls?: TlsOptions;
  log?: { info(fields: object, message: string): void };
}

/** A running simulator. */
export interface Simulator {
  readonly port: number;
  readonly controlPort: number;
  close(): Promise<void>;
}

/** Deliveries that may wait for their answer on one session. */
const DELIVERY_WINDOW = 100;
/** An ESME that has not answered by then gets the delivery again. */
const ANSWER_WAIT_MS = 5000;
/** The window that is enforced is the behaviour's; this one only bounds memory. */
const INCOMING_MAX = 100_000;

/** Starts an SMSC with its control port. Rejects when an address cannot be used. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { host, log } = options;
  const behaviour = new BehaviourSwitch();
  const counters = new Counters();
  const messages = new MessageStore();
  const peers = new Peers();
  const deliveries = new Deliveries({
    pickSession: (systemId) => peers.pickReceiver(systemId),
    resendMs: () => behaviour.current.receipts.resend_ms,
    counts: () => counters.receipts,
  });
  const submits = new Submits({ behaviour, counters, deliveries, messages });
  const binds = new Binds(options, behaviour);
  const server = await startSmppServer({
    host,
    port: options.port,
    systemId: "simulator",
    ...(options.tls && { tls: options.tls }),
    session: {
      windowMax: DELIVERY_WINDOW,
      incomingMax: INCOMING_MAX,
      responseTimeoutMs: ANSWER_WAIT_MS,
    },
    authenticate: (bind, session) => binds.judge(bind, session),
    intercept: (pdu, session) => binds.intercept(pdu, session),
    onConnect(session) {
      const fault = behaviour.strike("connect");
      if (fault !== undefined) {
        session.sendRaw(fault.name === "outbind" ? outbind() : deliverBeforeBind());
      }
    },
    onBound(session, bind, mode) {
      const { systemId } = bind.body;
      peers.add({ session, systemId, mode, open: 0 });
      counters.bound(1);
      log?.info({ mode, remote: session.remote }, "bound");
      if (mode !== "transmitter") setImmediate(() => deliveries.pump(systemId));
    },
    onRequest(request, session) {
      const peer = peers.get(session);
      if (peer === undefined) return session.ignore();
      if (isSubmit(request)) submits.handle(request, peer);
      else answerOther(request, session, messages);
    },
    onClose(session, reason) {
      if (!peers.remove(session)) return;
      counters.bound(-1);
      log?.info({ reason }, "link ended");
    },
  });
  let reference = 0;
  const control = await startControl(host, options.controlPort, {
    counters: () => counters.snapshot(),
    reset: () => counters.reset(),
    behaviour: () => behaviour.current,
    applyBehaviour: (change) => behaviour.apply(change),
    injectMessage(message: HandsetMessage) {
      const targets = message.systemId === undefined ? peers.receivers() : [message.systemId];
      reference = (reference + 1) & 0xff;
      const parts = targets.flatMap((target) => handsetDeliveries(message, target, reference));
      for (const part of parts) deliveries.add(part, 0);
      return parts.length;
    },
  });
  return {
    port: server.port,
    controlPort: control.port,
    async close() {
      deliveries.close();
      await Promise.all([control.close(), server.close()]);
    },
  };
}

/** Judges binds and strikes the faults of binding, unbinding and enquire_link. */
class Binds {
  readonly #options: SimulatorOptions;
  readonly #behaviour: BehaviourSwitch;
  readonly #refused = new WeakMap<Session, number>();

  constructor(options: SimulatorOptions, behaviour: BehaviourSwitch) {
    this.#options = options;
    this.#behaviour = behaviour;
  }

  judge(bind: BindRequest, session: Session): number {
    const refusal = this.#refused.get(session);
    if (refusal !== undefined) return refusal;
    const { systemId, password } = this.#options;
    if (bind.body.systemId !== systemId) return STATUS.ESME_RINVSYSID;
    if (bind.body.password !== password) return STATUS.ESME_RINVPASWD;
    return STATUS.ESME_ROK;
  }

  /** Returns true when a fault swallows the PDU. */
  intercept(pdu: Pdu, session: Session): boolean {
    if (pdu.command === "unbind") return this.#behaviour.strike("unbind") !== undefined;
    if (pdu.command === "enquire_link") return this.#behaviour.strike("enquire_link") !== undefined;
    if (!pdu.command.startsWith("bind_") || pdu.command.endsWith("_resp")) return false;
    const fault = this.#behaviour.strike("bind");
    if (fault === undefined) return false;
    if (fault.name === "bind_unanswered") return true;
    this.#refused.set(session, fault.status ?? STATUS.ESME_RBINDFAIL);
    return false;
  }
}
