/**
 * Agents that share TLS sessions: a connection that resumes one (RFC 8446 section 2.2) spares both
 * sides most of a handshake. Node's agents keep sessions too, but each its own, and here every
 * endpoint has an agent: without sharing, the first connection to each endpoint of a host, and all
 * of them after a restart, would be made from nothing.
 */
import { Agent, type AgentOptions, type RequestOptions } from "node:https";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { setRecent } from "../../shared/core/recent.ts";

/** Sessions by host and port; the least recently renewed is forgotten first. */
export type TlsSessions = Map<string, Buffer>;

const SESSIONS_MAX = 5000;

/** An agent whose connections resume, and renew, the sessions it was given. */
export class ResumingAgent extends Agent {
  readonly #sessions: TlsSessions;

  constructor(options: AgentOptions, sessions: TlsSessions) {
    super({ ...options, maxCachedSessions: 0 });
    this.#sessions = sessions;
  }

  override createConnection(
    options: RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    // A session is offered only to the very host and port that issued it.
    const key = `${options.host}:${options.port}`;
    const session = this.#sessions.get(key);
    const resuming = session === undefined ? options : { ...options, session };
    const socket = super.createConnection(resuming, callback) as TLSSocket;
    socket.on("session", (issued) => setRecent(this.#sessions, key, issued, SESSIONS_MAX));
    socket.once("error", () => this.#sessions.delete(key));
    return socket;
  }
}
