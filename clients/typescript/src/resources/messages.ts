import type { Caller, CallOptions } from "../call.ts";
import { createList, type List } from "../list.ts";
import type { BodyOf, EntryOf, QueryOf } from "../operation-types.ts";
import { fetchData } from "./resource.ts";

/** Sends, reads and cancels messages. */
export function messageMethods(call: Caller) {
  const messages = {
    /** Sends one message. */
    send: (body: BodyOf<"sendMessage">, options: CallOptions = {}) =>
      fetchData(call, "sendMessage", { body }, options),
    /** Sends one text to many; each recipient is accepted or rejected by itself: read `messages`. */
    sendBulk: (body: BodyOf<"sendBulk">, options: CallOptions = {}) =>
      fetchData(call, "sendBulk", { body }, options),
    /** Sends many texts; each item is accepted or rejected by itself: read `messages`. */
    sendBatch: (body: BodyOf<"sendBatch">, options: CallOptions = {}) =>
      fetchData(call, "sendBatch", { body }, options),
    /** Newest first. Give both `created_after` and `created_before` to read a span without gaps. */
    list: (
      query: QueryOf<"listMessages"> = {},
      options: CallOptions = {},
    ): List<EntryOf<"listMessages">> => createList(call, "listMessages", { query }, options),
    /** One message with its history. */
    get: (id: string, options: CallOptions = {}) =>
      fetchData(call, "getMessage", { path: { message_id: id } }, options),
    /** The timeline of a message: statuses, money, webhook attempts. */
    timeline: (id: string, options: CallOptions = {}) =>
      fetchData(call, "getMessageTimeline", { path: { message_id: id } }, options),
    /** The segments, encoding and price of a text; nothing is sent. */
    preview: (body: BodyOf<"previewMessage">, options: CallOptions = {}) =>
      fetchData(call, "previewMessage", { body }, options),
    /** Cancels a scheduled or waiting message. */
    cancel: (id: string, options: CallOptions = {}) =>
      fetchData(call, "cancelMessage", { path: { message_id: id } }, options),
  };
  return { messages };
}
