import type { Caller, CallOptions } from "../call.ts";
import { createList, type List } from "../list.ts";
import type { EntryOf, QueryOf } from "../operation-types.ts";
import { fetchData } from "./resource.ts";

/** The balance and the sender IDs. */
export function accountMethods(call: Caller) {
  const balance = {
    get: (options: CallOptions = {}) => fetchData(call, "getBalance", {}, options),
  };
  const senderIds = {
    /** By name. */
    list: (
      query: QueryOf<"listSenderIds"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listSenderIds">> => createList(call, "listSenderIds", { query }, options),
  };
  return { balance, senderIds };
}
