/**
 * Connections that are not read for a moment. Who is refused is told to come again in a second. A few thousand
 * connections that ask again at once would leave the process no time for anything but refusing them, as fast as
 * it can. So one that was refused is read again when there is room, or after half a second: who keeps to what
 * it was told does not notice, and a proxy's next request, which may be somebody else's, waits for its answer
 * instead of being refused at once.
 */
import type { Socket } from "node:net";
import { pauseRequests, resumeRequests } from "../../services/shared/vendor/node-http-socket.ts";

/** How long a connection is held while there is no room, in milliseconds; longer where thousands are. */
const HOLD_MS = 500;

/** How often it is looked whether there is room, while any are held. */
const LOOK_MS = 20;

/** How many are let go at one look without room for them: to refuse each costs some 30 µs. */
const LET_GO_MAX = 80;

/** Holds connections. */
export type SocketPauser = {
  /** Reads no more of a connection, for a moment, once what has been received is dealt with. */
  hold(socket: Socket): void;
  /** Lets all go. */
  close(): void;
};

/** Makes the holder; `remainingCapacity` tells for how many requests there is room now. */
export function createSocketPauser(remainingCapacity: () => number): SocketPauser {
  /** When each is let go at the latest, the earliest first. */
  const held = new Map<Socket, number>();
  let timer: NodeJS.Timeout | undefined;

  function letGo(): void {
    const nowMs = performance.now();
    const room = remainingCapacity();
    let count = 0;
    for (const [socket, untilMs] of held) {
      if (count >= room && (untilMs > nowMs || count >= room + LET_GO_MAX)) break;
      count += 1;
      release(socket);
    }
    if (held.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function release(socket: Socket): void {
    held.delete(socket);
    resumeRequests(socket);
  }

  return {
    hold(socket: Socket) {
      if (socket.destroyed || held.has(socket)) return;
      held.set(socket, performance.now() + HOLD_MS);
      pauseRequests(socket);
      timer ??= setInterval(letGo, LOOK_MS);
    },
    close() {
      for (const socket of held.keys()) release(socket);
      clearInterval(timer);
      timer = undefined;
    },
  };
}
