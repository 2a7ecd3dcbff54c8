import type { TlsOptions } from "node:tls";
import { startSmppServer } from "../shared/smpp/server.ts";
import { startControl } from "./adapters/control.ts";
import { Binds } from "./app/binds.ts";
import { createCallbacks } from "./app/callbacks.ts";
import { Counters } from "./app/counters.ts";
import { Deliveries } from "./app/deliveries.ts";
import { MessageStore } from "./app/message-store.ts";
import { createHandsets } from "./app/mobile-originated.ts";
import { answerOther } from "./app/non-submit-requests.ts";
import { Peers } from "./app/sessions.ts";
import { Submits } from "./app/submits.ts";
import { BehaviourSwitch } from "./domain/behaviour.ts";
import { isSubmit } from "./domain/deduplicate.ts";
import { deliverBeforeBind, outbind } from "./domain/malformed-pdus.ts";

/** The addresses and the account of the simulator. */
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

/** Most unanswered deliveries on one session. */
const DELIVERY_WINDOW = 100;
/** A delivery without an answer is sent again after this time. */
const ANSWER_WAIT_MS = 5000;
/** Most unanswered requests of a session, to bound the memory; `window` of the behaviour is the enforced limit. */
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
    interfaceVersion: () => behaviour.current.interface_version,
    authenticate: (bind, session) => binds.authenticate(bind, session),
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
  const callbacks = createCallbacks({
    resendMs: () => behaviour.current.receipts.resend_ms,
    counts: () => counters.receipts,
  });
  const control = await startControl(host, options.controlPort, {
    counters: () => ({ ...counters.snapshot(), waiting: deliveries.waiting }),
    reset: () => counters.reset(),
    behaviour: () => behaviour.current,
    applyBehaviour: (change) => behaviour.apply(change),
    injectMessage: createHandsets({
      ...{ deliveries, callbacks },
      receivers: () => peers.receivers(),
    }),
  });
  return {
    port: server.port,
    controlPort: control.port,
    async close() {
      deliveries.close();
      callbacks.close();
      await Promise.all([control.close(), server.close()]);
    },
  };
}
