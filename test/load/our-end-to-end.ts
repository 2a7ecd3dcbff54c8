import { MongoClient } from "mongodb";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { type EndToEnd, type Load, measureEndToEnd } from "./end-to-end.ts";
import { singleSend } from "./sends.ts";

/** Our stack end to end: a message has come to its end when it is delivered and settled. */
export async function measureOurEndToEnd(stack: StackFile, load: Load): Promise<EndToEnd> {
  const client = await new MongoClient(stack.mongodb_uri).connect();
  const messages = client
    .db("sms_messaging")
    .collection<{ _id: string; status: string }>("messages");
  const settlements = client.db("sms_wallet").collection<{ _id: string }>("settlements");
  const ofThisRun = { _id: { $gte: newId("message") } };
  try {
    return await measureEndToEnd(
      {
        url: new URL(stack.gateway),
        request: (count) => singleSend(stack, count),
        async finished() {
          const [delivered, settled] = await Promise.all([
            messages.countDocuments({ ...ofThisRun, status: "delivered" }),
            settlements.countDocuments(ofThisRun),
          ]);
          return Math.min(delivered, settled);
        },
      },
      load,
    );
  } finally {
    await client.close();
  }
}
