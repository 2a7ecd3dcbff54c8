/**
 * The stream as a log of one tenant's events. Subjects are `events.<kind>.<tenant id>.<type>`, so the server finds the
 * entries of a tenant itself. Entries are read one by one and no consumer is made: that would cost the server a
 * decision of all its nodes for each request.
 */
import { type JetStreamManager, type MsgRequest, NatsError } from "nats";
import { isId } from "../../shared/core/ids.ts";
import { pause } from "../../shared/flow/backoff.ts";
import { subscribe } from "../../shared/io/best-effort-pubsub.ts";
import { EVENT_STREAM, type Nats } from "../../shared/io/nats.ts";
import type { EventLog, EventWatch } from "../app/read-events.ts";
import { readNotices } from "./events.ts";

/** The server's error code for a message that does not exist. */
const NO_MESSAGE = 10_037;

export function createEventLog(nats: Nats, stream = EVENT_STREAM): EventLog {
  let managing: Promise<JetStreamManager> | undefined;
  const manager = () => {
    // Made at the first request, and again after a failure.
    managing ??= nats.connection.jetstreamManager().catch((error) => {
      managing = undefined;
      throw error;
    });
    return managing;
  };

  return {
    async bounds() {
      const { state } = await (await manager()).streams.info(stream);
      return { firstSeq: state.first_seq, lastSeq: state.last_seq };
    },
    async nextEntry(tenantId, seq) {
      // The client's type leaves `next_by_subj` to direct reads, which may come from a replica that lags.
      const request = { seq, next_by_subj: subjectOf(tenantId) } as MsgRequest;
      try {
        const message = await (await manager()).streams.getMessage(stream, request);
        const events = readNotices(message.data);
        return { seq: message.seq, events: events instanceof Error ? [] : events };
      } catch (error) {
        if (error instanceof NatsError && error.api_error?.err_code === NO_MESSAGE)
          return undefined;
        throw error;
      }
    },
    watch: (tenantId) => watchSubject(nats, subjectOf(tenantId)),
  };
}

function subjectOf(tenantId: string): string {
  // A tenant such as `*` would select the events of all.
  if (!isId("tenant", tenantId)) throw new Error("the tenant of a subject must be an id");
  return `events.*.${tenantId}.>`;
}

/** The stream's subjects are also subjects of NATS core: a subscriber receives each entry as it is published. */
function watchSubject({ connection }: Nats, subject: string): EventWatch {
  let noticed = new AbortController();
  const subscription = subscribe(connection, subject, () => noticed.abort());
  return {
    async next(ms, signal) {
      await pause(ms, AbortSignal.any([signal, noticed.signal]));
      noticed = new AbortController();
    },
    close: () => subscription.unsubscribe(),
  };
}
