import type { Context } from "koa";

/** Sets one header. Koa's `set` builds lists of names and values first, which is measurable at six a request. */
export function setHeader({ res }: Context, name: string, value: string): void {
  if (!res.headersSent) res.setHeader(name, value);
}
