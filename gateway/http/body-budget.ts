/**
 * The bodies that are being received, and those whose requests are at work: bounded in number and in octets
 * over all connections. Anybody can begin a body and not go on; where there is no room for another, the one
 * that has been coming for the longest gives way, as a client in earnest sends its own within moments.
 */

/** One body's place. */
export type BodyReservation = {
  /** So many more octets are kept. May make this body, or an older one, give way. */
  grow(bytes: number): void;
  /** It is whole: it gives way no more, but counts until `leave`. */
  end(): void;
  leave(): void;
  /** Whether it had to make room for others. */
  isEvicted(): boolean;
};

/** The places. */
export type BodyBudget = {
  /** Takes a place; `evict` is called at most once, when it has to be given up. */
  enter(evict: () => void): BodyReservation;
};

/** Bodies that are received at once, and octets of all that are kept. */
const RECEIVED_MAX = 2048;
const BYTES_MAX = 134_217_728;

/** Makes the crowd. */
export function createBodyBudget(
  bounds = { receivedMax: RECEIVED_MAX, bytesMax: BYTES_MAX },
): BodyBudget {
  type Member = { bytes: number; isEvicted: boolean; readonly evict: () => void };
  /** In the order in which they began. */
  const received = new Set<Member>();
  let total = 0;

  function free(member: Member): void {
    total -= member.bytes;
    member.bytes = 0;
  }

  function makeRoom(): void {
    while (received.size > bounds.receivedMax || (total > bounds.bytesMax && received.size > 0)) {
      const [oldest] = received;
      if (oldest === undefined) return;
      received.delete(oldest);
      free(oldest);
      oldest.isEvicted = true;
      oldest.evict();
    }
  }

  return {
    enter(evict) {
      const member: Member = { bytes: 0, isEvicted: false, evict };
      received.add(member);
      makeRoom();
      return {
        grow(bytes) {
          member.bytes += bytes;
          total += bytes;
          makeRoom();
        },
        end: () => void received.delete(member),
        leave() {
          received.delete(member);
          free(member);
        },
        isEvicted: () => member.isEvicted,
      };
    },
  };
}
