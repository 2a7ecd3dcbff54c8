/** An outbox on a real NATS that also hears what it publishes. */
import type { Db } from "mongodb";
import { createLogger } from "../../services/shared/io/log.ts";
import { openNats } from "../../services/shared/io/nats.ts";
import { createOutbox } from "../../services/shared/io/outbox.ts";
import { ensureEventStream } from "./event-stream.ts";
import { eventually } from "./poll.ts";
import { startServers } from "./servers.ts";

/** Opens the outbox of a service's database; `service` is the second token of its events' subjects. */
export async function openWatchedOutbox(db: Db, service: string) {
  const log = createLogger("test", "silent");
  const servers = await startServers();
  const nats = await openNats({ url: servers.natsUrl, name: "test", log });
  await ensureEventStream(nats);
  const subjects: string[] = [];
  nats.connection.subscribe(`events.${service}.>`, {
    callback: (_, { subject }) => void subjects.push(subject),
  });
  // The server has the subscription before anything is published.
  await nats.connection.flush();
  const outbox = createOutbox({ db, nats, log });
  return {
    outbox,
    /** The types of a tenant's events, in the order in which they came, when all that was written is published. */
    async events(tenantId: string): Promise<readonly string[]> {
      await eventually(async () => (await db.collection("outbox").countDocuments()) === 0);
      // After the answer to a flush, all that the server sent earlier has arrived.
      await nats.connection.flush();
      const start = `events.${service}.${tenantId}.`;
      return subjects.flatMap((one) => (one.startsWith(start) ? [one.slice(start.length)] : []));
    },
    async close(): Promise<void> {
      await outbox.close();
      await nats.close();
      await servers.stop();
    },
  };
}
