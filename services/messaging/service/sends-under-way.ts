/**
 * Sends that have their instant and are not stored yet, nor refused. A message shows in lists once it is
 * committed, by the instant at which its send began: a list up to now would miss what is under way, and
 * a later list of the same window would find it. So a list that is to miss nothing first waits for the
 * sends that would fall into it (ADR 90).
 */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { answerWithin } from "../../shared/io/backoff.ts";

/** What other replicas have under way; a hint, which may be lost. */
export type UnderWayPeers = {
  /** Answers whether their sends of a tenant with instants before this one have ended, within a time. */
  ended(tenantId: string, beforeMs: number, limitMs: number): Promise<boolean>;
  /** Has their questions answered; undefined means that nothing of the kind is under way here. */
  onAsk(ended: (tenantId: string, beforeMs: number) => Promise<void> | undefined): void;
};

/** The sends of all replicas that are under way. */
export type SendsUnderWay = {
  /** Notes a send of this process as of its instant; to be told when it is stored or refused. */
  begin(tenantId: string, atMs: number): () => void;
  /**
   * Waits until no send is under way that would fall before an instant. Throws `service_unavailable`
   * when one takes too long.
   */
  settle(tenantId: string, beforeMs: number): Promise<void>;
};

type Send = { readonly atMs: number; readonly onEnd: (() => void)[] };

/** No send is under way for longer: by then its caller has left, and it is not begun or has ended. */
const SEND_MAX_MS = 60_000;
const WAIT_MAX_MS = 5000;

/** Makes the notes of one replica. */
export function createSendsUnderWay(peers: UnderWayPeers, clock: Clock): SendsUnderWay {
  const byTenant = new Map<string, Set<Send>>();

  function ended(tenantId: string, beforeMs: number): Promise<void> | undefined {
    const sends = [...(byTenant.get(tenantId) ?? [])].filter(({ atMs }) => atMs < beforeMs);
    if (sends.length === 0) return undefined;
    const all = sends.map(({ onEnd }) => new Promise<void>((resolve) => onEnd.push(resolve)));
    return Promise.all(all).then(() => undefined);
  }

  peers.onAsk(ended);
  return {
    begin(tenantId, atMs) {
      const send: Send = { atMs, onEnd: [] };
      const sends = byTenant.get(tenantId) ?? new Set();
      byTenant.set(tenantId, sends.add(send));
      return () => {
        sends.delete(send);
        if (sends.size === 0) byTenant.delete(tenantId);
        for (const tell of send.onEnd) tell();
      };
    },
    async settle(tenantId, beforeMs) {
      if (beforeMs < clock.now() - SEND_MAX_MS) return;
      const own = ended(tenantId, beforeMs)?.then(() => true) ?? Promise.resolve(true);
      const [isOwnEnded, areTheirsEnded] = await Promise.all([
        answerWithin(own, WAIT_MAX_MS),
        peers.ended(tenantId, beforeMs, WAIT_MAX_MS),
      ]);
      if (isOwnEnded === true && areTheirsEnded) return;
      const message = "Sends that fall into this window are under way; ask again shortly.";
      throw new AppError("service_unavailable", message, { retryAfterMs: 1000 });
    },
  };
}
