import type { Context } from "koa";
import type { ConsoleCall } from "./admission.ts";

/** A route of a signed-in operator: returns the body of the answer; undefined for none. */
export type Route = (call: ConsoleCall, context: Context) => Promise<object | undefined>;

/** The routes below `/operators/api`, by method and path. `rpc` serves the paths of `/operators/api/rpc/`. */
export type Routes = {
  readonly fixed: Readonly<Record<string, Route>>;
  readonly rpc: (method: string) => Route;
};
