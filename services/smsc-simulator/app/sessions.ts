import type { BindMode } from "../../shared/smpp/bind-states.ts";
import type { Session } from "../../shared/smpp/session.ts";

/** A bound session. */
export interface Peer {
  session: Session;
  systemId: string;
  mode: BindMode;
  /** Unanswered submits of this session. */
  open: number;
}

/** The bound sessions, by session and by system id. */
export class Peers {
  readonly #bySession = new Map<Session, Peer>();
  readonly #receivers = new Map<string, Peer[]>();
  #next = 0;

  get size(): number {
    return this.#bySession.size;
  }

  add(peer: Peer): void {
    this.#bySession.set(peer.session, peer);
    if (peer.mode === "transmitter") return;
    const receivers = this.#receivers.get(peer.systemId) ?? [];
    this.#receivers.set(peer.systemId, [...receivers, peer]);
  }

  /** Removes a session; false when it was never bound. */
  remove(session: Session): boolean {
    const peer = this.#bySession.get(session);
    if (peer === undefined) return false;
    this.#bySession.delete(session);
    const left = (this.#receivers.get(peer.systemId) ?? []).filter((other) => other !== peer);
    if (left.length > 0) this.#receivers.set(peer.systemId, left);
    else this.#receivers.delete(peer.systemId);
    return true;
  }

  get(session: Session): Peer | undefined {
    return this.#bySession.get(session);
  }

  /** The system ids that can take deliveries. */
  receivers(): string[] {
    return [...this.#receivers.keys()];
  }

  /** Picks the receiving sessions of an ESME by round robin and skips those with a full window. */
  pickReceiver(systemId: string): Session | undefined {
    const receivers = this.#receivers.get(systemId);
    if (receivers === undefined) return undefined;
    for (let tried = 0; tried < receivers.length; tried++) {
      const session = receivers[this.#next++ % receivers.length]?.session;
      if (session !== undefined && session.window.free > 0) return session;
    }
    return undefined;
  }
}
