import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Runs a function outside the caller's asynchronous context. Work that serves many callers (a batch, a
 * shared load) must not inherit the deadline or the request id of the first of them.
 */
export const runDetached: <T>(run: () => T) => T = AsyncLocalStorage.snapshot();
