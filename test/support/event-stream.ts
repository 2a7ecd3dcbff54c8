import { EVENT_STREAM, ensureStream, type Nats } from "../../services/shared/io/nats.ts";

/** Creates the event stream. All tests of a run share it, so it has the same limits for each of them. */
export async function ensureEventStream(nats: Nats): Promise<void> {
  await ensureStream(await nats.connection.jetstreamManager(), {
    name: EVENT_STREAM,
    subjects: ["events.>"],
    replicas: 1,
    maxAgeMs: 3_600_000,
    maxBytes: 268_435_456,
  });
}
