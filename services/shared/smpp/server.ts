import { createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import type { BindMode } from "./bind-states.ts";
import type { Pdu, PduOf } from "./pdu.ts";
import { Session } from "./session.ts";
import type { CloseReason, SessionOptions } from "./session-options.ts";
import { STATUS } from "./statuses.ts";

/** Any of the three binds. */
export type BindRequest =
  | PduOf<"bind_transmitter">
  | PduOf<"bind_receiver">
  | PduOf<"bind_transceiver">;

/** The options of a server. */
export interface SmppServerOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  tls?: TlsOptions;
  /** The name in bind responses. */
  systemId: string;
  /** The maximum number of open sessions; further ones are closed at once. 1,000 by default. */
  sessionsMax?: number;
  /** Limits of every session. */
  session?: Omit<SessionOptions, "role" | "onClose" | "onState">;
  /** The sc_interface_version in bind responses; 0x34 by default, 0 leaves it out. */
  interfaceVersion?: () => number;
  /** Returns the status of the bind response; ESME_ROK accepts the bind. */
  authenticate: (bind: BindRequest, session: Session) => number;
  onBound?: (session: Session, bind: BindRequest, mode: BindMode) => void;
  onRequest: (request: Pdu, session: Session) => void;
  onClose?: (session: Session, reason: CloseReason) => void;
  onConnect?: (session: Session) => void;
  /** See `SessionCallbacks.intercept`. */
  intercept?: (pdu: Pdu, session: Session) => boolean;
}

/** A listening SMPP server. */
export interface SmppServer {
  readonly port: number;
  readonly sessions: ReadonlySet<Session>;
  /** Stops listening, unbinds every session and resolves when all are closed. */
  close(): Promise<void>;
}

const MODES = {
  bind_transmitter: "transmitter",
  bind_receiver: "receiver",
  bind_transceiver: "transceiver",
} as const;

/** Listens for ESMEs. Rejects when the address cannot be used. */
export async function startSmppServer(options: SmppServerOptions): Promise<SmppServer> {
  const sessions = new Set<Session>();
  const accept = (socket: Socket): void => {
    if (sessions.size >= (options.sessionsMax ?? 1000)) return void socket.destroy();
    const session = openSession(socket, options, sessions);
    sessions.add(session);
    options.onConnect?.(session);
  };
  const settings = { noDelay: true };
  const server: Server = options.tls
    ? createTlsServer({ ...settings, ...options.tls }, accept)
    : createTcpServer(settings, accept);
  // A client that aborts the handshake does not affect the server.
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => resolve());
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    sessions,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all([...sessions].map((session) => session.unbind()));
      await closed;
    },
  };
}

function openSession(socket: Socket, options: SmppServerOptions, sessions: Set<Session>): Session {
  const session = new Session(socket, {
    ...options.session,
    role: "smsc",
    ...(options.intercept && { intercept: options.intercept }),
    onRequest(request, from) {
      switch (request.command) {
        case "bind_transmitter":
        case "bind_receiver":
        case "bind_transceiver":
          return answerBind(request, from, options);
        default:
          return options.onRequest(request, from);
      }
    },
    onClose(reason) {
      sessions.delete(session);
      options.onClose?.(session, reason);
    },
  });
  return session;
}

function answerBind(bind: BindRequest, session: Session, options: SmppServerOptions): void {
  const status = options.authenticate(bind, session);
  const version = options.interfaceVersion?.() ?? 0x34;
  // A refusal has a body too: some clients cannot parse a response without one.
  session.respond(bind, {
    status,
    body: { systemId: options.systemId },
    ...(status === STATUS.ESME_ROK && version > 0 && { tlvs: { scInterfaceVersion: version } }),
  });
  if (status !== STATUS.ESME_ROK) return void setTimeout(() => session.close("bind_refused"), 200);
  const mode = MODES[bind.command];
  session.markBound(mode);
  options.onBound?.(session, bind, mode);
}
