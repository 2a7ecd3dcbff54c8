/** A page of the ops port that shows customers' data, and so asks for the token that every RPC asks for. */
import type { ServerResponse } from "node:http";
import { ConnectError } from "@connectrpc/connect";
import type { OpsHandler } from "../io/ops-server.ts";
import type { RpcAuth } from "./auth.ts";
import { refuse } from "./connect-json.ts";

/** A page by its path. */
export type GuardedPage = {
  readonly path: string;
  /** The method that a caller must be permitted in `RPC_TOKENS` to read it. */
  readonly method: string;
  readonly answer: (response: ServerResponse) => void;
};

/** Makes the handler: whoever may not call the page's method gets 401 or 403, as for an RPC in JSON. */
export function guardPage({ path, method, answer }: GuardedPage, auth: RpcAuth): OpsHandler {
  return (request, response) => {
    if (request.method !== "GET" || request.url?.split("?", 1)[0] !== path) return false;
    try {
      auth.authorize(method, request.headers.authorization);
    } catch (error) {
      refuse(response, ConnectError.from(error));
      return true;
    }
    answer(response);
    return true;
  };
}
