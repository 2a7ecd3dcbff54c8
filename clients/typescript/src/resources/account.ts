import type { Caller, CallOptions } from "../call.ts";
import { createList, type List } from "../list.ts";
import type { BodyOf, EntryOf, QueryOf } from "../operation-types.ts";
import { fetchData } from "./resource.ts";

/** The account: balance, statement, usage, keys, audit trail, and the sender IDs. */
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
    /** Asks for one; operators review it. */
    request: (body: BodyOf<"requestSenderId">, options: CallOptions = {}) =>
      fetchData(call, "requestSenderId", { body }, options),
  };
  const wallet = {
    /** The statement, newest first. */
    entries: (
      query: QueryOf<"listWalletEntries"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listWalletEntries">> =>
      createList(call, "listWalletEntries", { query }, options),
  };
  const usage = {
    /** Counts of messages, segments and charges. */
    get: (query: QueryOf<"getUsage"> = {}, options: CallOptions = {}) =>
      fetchData(call, "getUsage", { query }, options),
  };
  const account = {
    get: (options: CallOptions = {}) => fetchData(call, "getAccount", {}, options),
    /** Absent members keep their value. */
    update: (body: BodyOf<"updateAccount">, options: CallOptions = {}) =>
      fetchData(call, "updateAccount", { body }, options),
    /** The audit trail, newest first. */
    auditEntries: (
      query: QueryOf<"listAuditEntries"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listAuditEntries">> =>
      createList(call, "listAuditEntries", { query }, options),
  };
  const apiKeys = {
    /** Newest first, of the key's mode. */
    list: (
      query: QueryOf<"listApiKeys"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listApiKeys">> => createList(call, "listApiKeys", { query }, options),
    /** Creates a key; the response shows its `secret` this once. */
    create: (body: BodyOf<"createApiKey">, options: CallOptions = {}) =>
      fetchData(call, "createApiKey", { body }, options),
    get: (id: string, options: CallOptions = {}) =>
      fetchData(call, "getApiKey", { path: { api_key_id: id } }, options),
    /** Revokes a key for ever. */
    revoke: async (id: string, options: CallOptions = {}): Promise<void> => {
      await call("revokeApiKey", { path: { api_key_id: id } }, options);
    },
  };
  return { balance, senderIds, wallet, usage, account, apiKeys };
}
