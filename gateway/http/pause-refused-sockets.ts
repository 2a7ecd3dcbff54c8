/**
 * Pauses sockets that just got a 503. A few thousand clients that retry at once would leave the process no
 * time for anything but refusals. A refused socket is therefore read again when the load limiter has
 * capacity, or after half a second. A client that respects `Retry-After: 1` does not notice the pause. A
 * proxy's next request, which may belong to another client, waits for its response instead of a second 503.
 */
import type { Socket } from "node:net";
import { pauseRequests, resumeRequests } from "../../services/shared/vendor/node-http-socket.ts";

/** How long a socket is paused while there is no capacity; longer when thousands are paused. */
const PAUSE_MS = 500;

/** How often capacity is checked while any socket is paused. */
const CHECK_INTERVAL_MS = 20;

/** Sockets resumed in one check beyond the capacity: each refusal costs about 30 µs. */
const RESUME_MAX = 80;

/** Pauses and resumes refused sockets. */
export type SocketPauser = {
  /** Stops reading a socket for a moment, after the data already received is handled. */
  pause(socket: Socket): void;
  /** Resumes all sockets. */
  close(): void;
};

/** Creates the pauser; `remainingCapacity` is how many more requests the load limiter admits now. */
export function createSocketPauser(
  remainingCapacity: () => number,
  pauseMs = PAUSE_MS,
): SocketPauser {
  /** The latest time to resume each socket, the earliest first. */
  const paused = new Map<Socket, number>();
  let timer: NodeJS.Timeout | undefined;

  function resumeDue(): void {
    const nowMs = performance.now();
    const capacity = remainingCapacity();
    let count = 0;
    for (const [socket, untilMs] of paused) {
      if (count >= capacity && (untilMs > nowMs || count >= capacity + RESUME_MAX)) break;
      count += 1;
      resume(socket);
    }
    if (paused.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function resume(socket: Socket): void {
    paused.delete(socket);
    resumeRequests(socket);
  }

  return {
    pause(socket) {
      if (socket.destroyed || paused.has(socket)) return;
      paused.set(socket, performance.now() + pauseMs);
      pauseRequests(socket);
      timer ??= setInterval(resumeDue, CHECK_INTERVAL_MS);
    },
    close() {
      for (const socket of paused.keys()) resume(socket);
      clearInterval(timer);
      timer = undefined;
    },
  };
}
