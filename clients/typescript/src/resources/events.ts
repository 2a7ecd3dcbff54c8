import type { Caller, CallOptions } from "../call.ts";
import type { WebhookEvent } from "../generated/operations.ts";
import { createList, type List } from "../list.ts";
import type { QueryOf } from "../operation-types.ts";

/** Some events, and the cursor of those that follow. */
export type EventPage = {
  readonly data: readonly WebhookEvent[];
  readonly next_cursor: string;
};

/** The longest wait that the API allows, in seconds. */
const WAIT_S = 20;

/** The events of the key's mode, for programs that no webhook can reach. */
export function eventMethods(call: Caller) {
  const events = {
    /** The events after `cursor`, at once; without a cursor none, and the cursor of the next event. */
    async read(query: QueryOf<"listEvents"> = {}, options: CallOptions = {}): Promise<EventPage> {
      const { text } = await call("listEvents", { query }, options);
      return JSON.parse(text) as EventPage;
    },
    /**
     * Every event from `cursor` on, or from the next one. It waits for more and never ends: break, or abort `signal`.
     * To continue later, iterate over `pages()` and store each `next_cursor`.
     */
    follow: (query: QueryOf<"listEvents"> = {}, options: CallOptions = {}): List<WebhookEvent> =>
      createList(call, "listEvents", { query: { wait: WAIT_S, ...query } }, options),
  };
  return { events };
}
