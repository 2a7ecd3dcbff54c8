import { MongoClient } from "mongodb";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { newId } from "../../services/shared/core/ids.ts";
import type { DeliveryDocument } from "../../services/webhook/store/documents.ts";
import { IS_PENDING, QUEUE_INDEX } from "../../services/webhook/store/queue.ts";
import { type EndToEnd, type Load, measureEndToEnd } from "./end-to-end.ts";
import { singleSend } from "./sends.ts";

/** A message has two webhooks: sent and delivered. */
const WEBHOOKS_OF_A_MESSAGE = 2;

/**
 * Our stack end to end: a message has come to its end when it is delivered and settled and the
 * customer's server has both webhooks, as the peer's user has both reports.
 */
export async function measureOurEndToEnd(stack: StackFile, load: Load): Promise<EndToEnd> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  const messages = client
    .db("sms_messaging")
    .collection<{ _id: string; status: string }>("messages");
  const settlements = client.db("sms_wallet").collection<{ _id: string }>("settlements");
  const deliveries = client.db("sms_webhook").collection<DeliveryDocument>("deliveries");
  const ofThisRun = { _id: { $gte: newId("message") } };
  // A delivery's id begins with the time of its event.
  const reportedInThisRun = { _id: { $gte: newId("webhookDelivery") } };
  const isPending = { ...reportedInThisRun, endpoint_id: { $gt: "" }, next_attempt_at: IS_PENDING };

  /** Counted from the index: the ones that are there, then those that still wait for their success. */
  async function reported(): Promise<number> {
    const made = await deliveries.countDocuments(reportedInThisRun);
    const pending = await deliveries.countDocuments(isPending, { hint: QUEUE_INDEX });
    return Math.floor((made - pending) / WEBHOOKS_OF_A_MESSAGE);
  }

  try {
    return await measureEndToEnd(
      {
        url: new URL(stack.gateway),
        request: (count) => singleSend(stack, count),
        async finished() {
          const [delivered, settled, notified] = await Promise.all([
            messages.countDocuments({ ...ofThisRun, status: "delivered" }),
            settlements.countDocuments(ofThisRun),
            reported(),
          ]);
          return Math.min(delivered, settled, notified);
        },
      },
      load,
    );
  } finally {
    await client.close();
  }
}
