/**
 * Connections that are not read for a moment. Who is refused is told to come again in a second. A few thousand
 * connections that ask again at once would leave the process no time for anything but refusing them, as fast as
 * it can. So one that was refused is read again when there is room, or after half a second: who keeps to what
 * it was told does not notice, and a proxy's next request, which may be somebody else's, waits for its answer
 * instead of being refused at once.
 */
import type { Socket } from "node:net";

/** How long a connection is held while there is no room, in milliseconds; longer where thousands are. */
const HOLD_MS = 500;

/** How often it is looked whether there is room, while any are held. */
const LOOK_MS = 20;

/** How many are let go at one look without room for them: to refuse each costs some 30 µs. */
const LET_GO_MAX = 80;

/** Holds connections. */
export type Holder = {
  /** Reads no more of a connection, for a moment, once what has been received is dealt with. */
  hold(socket: Socket): void;
  /** Lets all go. */
  close(): void;
};

/** What Node itself sets to read no more of a connection whose answers are not taken, and the parser that it stops. */
type ServerSocket = Socket & {
  _paused?: boolean;
  readonly parser?: { resume(): void } | null;
};

/** Makes the holder; `roomLeft` tells for how many requests there is room now. */
export function createHolder(roomLeft: () => number): Holder {
  /** When each is let go at the latest, the earliest first. */
  const held = new Map<ServerSocket, number>();
  let timer: NodeJS.Timeout | undefined;

  function letGo(): void {
    const nowMs = performance.now();
    const room = roomLeft();
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

  function release(socket: ServerSocket): void {
    held.delete(socket);
    socket._paused = false;
    socket.parser?.resume();
    socket.resume();
  }

  return {
    hold(socket: ServerSocket) {
      if (socket.destroyed || held.has(socket)) return;
      held.set(socket, performance.now() + HOLD_MS);
      // Without this mark Node would go on reading at the end of the request.
      socket._paused = true;
      socket.pause();
      timer ??= setInterval(letGo, LOOK_MS);
    },
    close() {
      for (const socket of held.keys()) release(socket);
      clearInterval(timer);
      timer = undefined;
    },
  };
}
