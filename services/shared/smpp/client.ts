/**
 * The ESME side of an SMPP link: one bind that reconnects by itself.
 *
 *     const client = createSmppClient({
 *       host, port, systemId, password, windowMax: 100,
 *       beforeWrite: (tokens) => journal.append(tokens),     // optional: durable before any octet leaves
 *       onDeliver: async (message) => { await receipts.store(message); },  // the client acknowledges it afterwards
 *       onState: (state, info) => log.info({ state, ...info }),
 *       onLateAnswer: (token, outcome) => {},                // a late answer to an `unknown` submit
 *     });
 *     client.start();
 *     const outcome = await client.submit(fields, tlvs, submissionId);
 *     switch (outcome.kind) { case "accepted": case "refused": case "unknown": case "not_sent": }
 *     await client.close({ drainMs: 5000 });
 *
 * `submit` never rejects and always ends, at the latest after `responseTimeoutMs` or with the link. `free` is the
 * number of submits that can leave at once; further ones wait in a queue of `queueMax`. While the link is down a
 * submit ends as `not_sent` at once. Submits of one event-loop iteration leave in one write.
 */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { addressTimeoutMs } from "../core/address-timeout.ts";
import { waitUntilIdle } from "../flow/wait-until-idle.ts";
import { createAddressOrder } from "../io/address-order.ts";
import type { IncomingMessage, LinkInfo, LinkState, SmppClientOptions } from "./client-options.ts";
import type { RequestName } from "./commands.ts";
import type { Pdu, PduBody } from "./pdu.ts";
import type { RequestOutcome } from "./request-window.ts";
import { Session } from "./session.ts";
import { STATUS } from "./statuses.ts";
import { type SubmitOutcome, submitOutcome } from "./submit-outcome.ts";
import type { Tlvs } from "./tlvs.ts";

/** One bind of a connector. */
export interface SmppClient {
  readonly state: LinkState;
  /** Free slots of the window; 0 while not bound. */
  readonly free: number;
  /** Submits written and unanswered. */
  readonly inFlight: number;
  readonly queued: number;
  /** The SMSC's sc_interface_version; undefined while not bound, or when it sent none (SMPP 3.3). */
  readonly peerVersion: number | undefined;
  /** Connects, and reconnects until `close`. */
  start(): void;
  /** Sends one submit_sm; `beforeWrite` and `onLateAnswer` get its `token`. */
  submit(
    fields: Partial<PduBody<"submit_sm">>,
    tlvs?: Tlvs,
    token?: string,
  ): Promise<SubmitOutcome>;
  /** Sends any other request: data_sm, query_sm, cancel_sm, replace_sm, submit_multi. */
  request<C extends RequestName>(
    command: C,
    body?: Partial<PduBody<C>>,
    tlvs?: Tlvs,
    token?: string,
  ): Promise<RequestOutcome>;
  /** Stops submitting, waits at most `drainMs` (0 by default) for answers, unbinds and stays down. */
  close(options?: { drainMs?: number }): Promise<void>;
}

/** A link that was up this long resets the reconnect backoff, even without submits. */
const STABLE_MS = 60_000;

const NOT_BOUND = { kind: "not_sent", reason: "not_bound" } as const;

/** Creates a client that does nothing before `start`. */
export function createSmppClient(options: SmppClientOptions): SmppClient {
  const link = new Link(options);
  return {
    get state() {
      return link.state;
    },
    get free() {
      return link.bound?.window.free ?? 0;
    },
    get inFlight() {
      return link.session?.window.inFlight ?? 0;
    },
    get queued() {
      return link.session?.window.queued ?? 0;
    },
    get peerVersion() {
      return link.session?.peerVersion;
    },
    start: () => link.start(),
    async submit(fields, tlvs, token) {
      const session = link.bound;
      if (session === undefined) return NOT_BOUND;
      const outcome = submitOutcome(await session.request("submit_sm", fields, tlvs, token));
      link.onSubmitEnd(session, outcome);
      return outcome;
    },
    request: (command, body, tlvs, token) =>
      link.bound?.request(command, body, tlvs, token) ?? Promise.resolve(NOT_BOUND),
    close: (closing) => link.close(closing?.drainMs ?? 0),
  };
}

/** Opens one session after the other; `LinkState` explains the states. */
class Link {
  state: LinkState = "stopped";
  session: Session | undefined;
  readonly #options: SmppClientOptions;
  readonly #addresses = createAddressOrder();
  #isWanted = false;
  #isDraining = false;
  #attempt = 0;
  #boundAtMs = 0;
  /** The session that closes because the SMSC refused a submit with an unusable bind status. */
  #unusable: { readonly session: Session; readonly status: number } | undefined;
  #retry: NodeJS.Timeout | undefined;
  #connecting: Socket | undefined;

  constructor(options: SmppClientOptions) {
    this.#options = options;
  }

  /** The session, if it takes submits. */
  get bound(): Session | undefined {
    return this.state === "bound" && !this.#isDraining ? this.session : undefined;
  }

  start(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#isDraining = false;
    this.#connect();
  }

  async close(drainMs: number): Promise<void> {
    this.#isWanted = false;
    this.#isDraining = true;
    clearTimeout(this.#retry);
    this.#connecting?.destroy();
    this.#connecting = undefined;
    const { session } = this;
    if (session !== undefined) await leave(session, drainMs);
    if (this.state !== "stopped") this.#enter("stopped", { attempt: this.#attempt });
  }

  /**
   * An accepted bind does not reset the backoff: some SMSCs accept it and drop the link at the first submit, which puts
   * the written submits in doubt each time. An answered submit resets it.
   */
  onSubmitEnd(session: Session, outcome: SubmitOutcome): void {
    if (outcome.kind === "accepted") this.#attempt = 0;
    else if (outcome.kind === "refused") {
      if (outcome.disposition === "bind") this.#giveUp(session, outcome.status);
      else this.#attempt = 0;
    }
  }

  /** Closes a session with an unusable bind status, after answers to its other submits. */
  #giveUp(session: Session, status: number): void {
    if (this.session !== session || this.state !== "bound" || this.#isDraining) return;
    this.#unusable = { session, status };
    this.#enter("unbinding", { attempt: this.#attempt, status });
    void leave(session, this.#options.responseTimeoutMs ?? 10_000);
  }

  #connect(): void {
    const { host, port, tls, connectTimeoutMs = 10_000 } = this.#options;
    this.#attempt++;
    this.#enter("connecting", { attempt: this.#attempt });
    const autoSelectFamilyAttemptTimeout = addressTimeoutMs(connectTimeoutMs);
    const { lookup, turn } = this.#addresses;
    const target = { host, port, lookup, autoSelectFamilyAttemptTimeout };
    const socket = tls ? connectTls({ ...target, ...tlsSettings(tls) }) : connectTcp(target);
    this.#connecting = socket;
    const timer = setTimeout(() => socket.destroy(new Error("connect timeout")), connectTimeoutMs);
    const onFailure = (error?: Error): void => {
      clearTimeout(timer);
      if (this.#connecting !== socket) return;
      this.#connecting = undefined;
      socket.destroy();
      this.#addresses.skip(turn);
      this.#retryLater({ reason: "connect_failed", ...(error && { error }) });
    };
    socket.once("error", onFailure);
    socket.once("close", () => onFailure());
    socket.once(tls ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      socket.removeListener("error", onFailure);
      if (this.#connecting !== socket) return void socket.destroy();
      this.#connecting = undefined;
      void this.#bind(socket);
    });
  }

  async #bind(socket: Socket): Promise<void> {
    const options = this.#options;
    const { turn } = this.#addresses;
    const session = new Session(socket, {
      ...options,
      role: "esme",
      onLateAnswer: (token, response) =>
        options.onLateAnswer?.(token, submitOutcome({ kind: "answered", response })),
      onRequest: (pdu, from) => void this.#onRequest(pdu, from),
      onState: (state) => this.#onSessionState(session, state, socket),
      onClose: (reason, error) => {
        if (this.session !== session) return;
        this.session = undefined;
        if (this.#hasStood()) this.#attempt = 0;
        if (this.#boundAtMs === 0) this.#addresses.skip(turn);
        const said = this.#unusable?.session === session ? this.#unusable : refusal;
        this.#retryLater({ reason, ...(error && { error }), ...(said && { status: said.status }) });
      },
    });
    let refusal: { status: number } | undefined;
    this.session = session;
    this.#boundAtMs = 0;
    this.#enter("binding", { attempt: this.#attempt });
    const outcome = await session.bind(options.mode ?? "transceiver", {
      systemId: options.systemId,
      password: options.password,
      systemType: options.systemType ?? "",
      interfaceVersion: options.interfaceVersion ?? 0x34,
      addrTon: options.addrTon ?? 0,
      addrNpi: options.addrNpi ?? 0,
      addressRange: options.addressRange ?? "",
    });
    if (outcome.kind === "answered" && outcome.response.status === STATUS.ESME_ROK) return;
    if (outcome.kind === "answered") refusal = { status: outcome.response.status };
    session.close(outcome.kind === "answered" ? "bind_refused" : "bind_timeout");
  }

  #onSessionState(session: Session, state: string, socket: Socket): void {
    if (this.session !== session) return;
    if (state === "unbinding" && this.state !== "unbinding") {
      this.#enter("unbinding", { attempt: this.#attempt });
    }
    if (!state.startsWith("bound_")) return;
    this.#boundAtMs = performance.now();
    this.#addresses.prefer(socket.remoteAddress);
    this.#enter("bound", { attempt: this.#attempt });
  }

  #hasStood(): boolean {
    const { stableMs = STABLE_MS } = this.#options;
    return this.#boundAtMs > 0 && performance.now() - this.#boundAtMs >= stableMs;
  }

  async #onRequest(pdu: Pdu, session: Session): Promise<void> {
    if (pdu.command !== "deliver_sm" && pdu.command !== "data_sm") return session.ignore();
    try {
      await this.#options.onDeliver(pdu as IncomingMessage);
      session.respond(pdu);
    } catch {
      session.respond(pdu, { status: STATUS.ESME_RX_T_APPN });
    }
  }

  #retryLater(info: Omit<LinkInfo, "attempt" | "retryInMs">): void {
    if (!this.#isWanted) return;
    const { reconnectMinMs = 500, reconnectMaxMs = 30_000, random = Math.random } = this.#options;
    // A refused bind rarely succeeds soon, and some carriers lock accounts that retry fast.
    const exponent = info.status === undefined ? this.#attempt : this.#attempt + 2;
    const ceilingMs = Math.min(reconnectMaxMs, reconnectMinMs * 2 ** Math.min(exponent, 16));
    const retryInMs = Math.round(ceilingMs * (0.5 + random() / 2));
    this.#retry = setTimeout(() => this.#connect(), retryInMs);
    this.#enter("waiting", { ...info, attempt: this.#attempt, retryInMs });
  }

  #enter(state: LinkState, info: LinkInfo): void {
    this.state = state;
    this.#options.onState?.(state, info);
  }
}

/** Unbinds a session when its requests are answered, or after `drainMs`. */
async function leave(session: Session, drainMs: number): Promise<void> {
  const { window } = session;
  const isIdle = () => session.state === "closed" || window.inFlight + window.queued === 0;
  await waitUntilIdle(isIdle, drainMs);
  await session.unbind();
}

/** An IP address is no valid server name (RFC 6066 section 3); the certificate is then checked against the host. */
function tlsSettings(tls: true | ConnectionOptions): ConnectionOptions {
  const { servername, ...settings } = tls === true ? {} : tls;
  const isName = servername !== undefined && isIP(servername) === 0;
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED in the environment would disable it.
  return { rejectUnauthorized: true, ...settings, ...(isName && { servername }) };
}
