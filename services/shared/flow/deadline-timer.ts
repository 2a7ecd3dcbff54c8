/**
 * Calls back when a time is over, after one more poll of the sockets. When the process was blocked, timers run
 * before waiting data is read; without the extra poll an answer that arrived in time would be lost.
 */
export function startDeadlineTimer(ms: number, onExpired: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(onExpired), ms);
}
