/** A page of the ops port with customer data; it requires the same token as an RPC. */
import type { ServerResponse } from "node:http";
import { ConnectError } from "@connectrpc/connect";
import type { OpsHandler } from "../io/ops-server.ts";
import type { RpcAuth } from "./auth.ts";
import { refuse } from "./connect-json.ts";

/** A page and its path. */
export type GuardedPage = {
  readonly path: string;
  /** The method that `RPC_TOKENS` must allow a caller in order to read the page. */
  readonly method: string;
  readonly answer: (response: ServerResponse) => void;
};

/** Handles the page; a caller without the method gets 401 or 403, as for an RPC in JSON. */
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
