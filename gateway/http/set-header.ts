import type { Context } from "koa";

/** Sets one header as it is. Koa's own `set` makes lists of names and values first, which shows at six a request. */
export function setHeader({ res }: Context, name: string, value: string): void {
  if (!res.headersSent) res.setHeader(name, value);
}
