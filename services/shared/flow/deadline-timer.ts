/**
 * Calls back when a time is over and the sockets have been looked at once more: where the process stood
 * still for as long, timers run before what has come in meanwhile is read, and that may be the answer.
 */
export function startTimeLimit(ms: number, onOver: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(onOver), ms);
}
