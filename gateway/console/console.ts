import type { Middleware } from "koa";
import type { ConsoleParts } from "./console-request.ts";
import { createConsoleRoutes } from "./routes.ts";
import { createStaticFiles } from "./static-files.ts";

/** Everything below `/console`: the pages, sign-in, sessions and people. */
export function createConsole(parts: ConsoleParts): Middleware {
  const files = createStaticFiles();
  const routes = createConsoleRoutes(parts);
  return (context, next) => files(context, () => routes(context, next) as Promise<unknown>);
}
