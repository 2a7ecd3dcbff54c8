import type { Middleware } from "koa";
import { createConsoleFiles } from "../../services/shared/web/console-files.ts";
import type { RequestState } from "../http/request-state.ts";
import type { ConsoleParts } from "./console-request.ts";
import { createConsoleRoutes } from "./routes.ts";

/** Everything below `/console`: the pages, sign-in, sessions and people. */
export function createConsole(parts: ConsoleParts): Middleware {
  const files = createConsoleFiles("console", ({ state }) => (state as RequestState).path);
  const routes = createConsoleRoutes(parts);
  return (context, next) => files(context, () => routes(context, next) as Promise<unknown>);
}
