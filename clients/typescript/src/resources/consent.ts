import type { Caller, CallOptions } from "../call.ts";
import { createList, csvPages, type List } from "../list.ts";
import type { BodyOf, EntryOf, QueryOf } from "../operation-types.ts";
import { type CsvFile, fetchData } from "./resource.ts";

/** Inbound messages, and the numbers that you must not send to. */
export function consentMethods(call: Caller) {
  const inboundMessages = {
    /** Newest first. */
    list: (
      query: QueryOf<"listInboundMessages"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listInboundMessages">> =>
      createList(call, "listInboundMessages", { query }, options),
    get: (id: string, options: CallOptions = {}) =>
      fetchData(call, "getInboundMessage", { path: { inbound_message_id: id } }, options),
  };
  const suppressions = {
    /** By number. */
    list: (
      query: QueryOf<"listSuppressions"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listSuppressions">> =>
      createList(call, "listSuppressions", { query }, options),
    /** The same as CSV, one text per page. */
    listCsv: (
      query: QueryOf<"listSuppressions"> = {},
      options: CallOptions = {},
    ): AsyncIterable<string> => csvPages(call, "listSuppressions", { query }, options),
    /** Adds up to 1,000; a repeat changes nothing. */
    add: (body: BodyOf<"addSuppressions">, options: CallOptions = {}) =>
      fetchData(call, "addSuppressions", { body }, options),
    /** Adds the rows of a CSV file with the columns `number`, `sender` and `reason`. */
    addCsv: (file: CsvFile, options: CallOptions = {}) =>
      fetchData(call, "addSuppressions", { file }, options),
    /** Removes that of one sender ID, or without it that of the whole account. */
    async remove(
      number: string,
      query: QueryOf<"removeSuppression"> = {},
      options: CallOptions = {},
    ): Promise<void> {
      await call("removeSuppression", { path: { number }, query }, options);
    },
  };
  return { inboundMessages, suppressions };
}
