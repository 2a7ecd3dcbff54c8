import { expect } from "chai";
import type { Message } from "../../../services/messaging/domain/message.ts";
import {
  type CheckedMessage,
  checkMessage,
  type MessageCharge,
} from "../../../services/messaging/domain/message-invariants.ts";
import { migrate } from "../../../services/messaging/migrate.ts";
import { type MessageDocument, toDocument } from "../../../services/messaging/store/documents.ts";
import { openMessageSnapshot } from "../../../services/messaging/store/snapshot.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import type { Mongo } from "../../../services/shared/io/mongo.ts";
import { messageIn } from "../../support/messages.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

const MESSAGES = 2500;

describe("the snapshot of all messages that checks read", function () {
  this.timeout(30_000);
  let database: TestDatabase;
  let mongo: Mongo;
  let messages: Message[];
  before(async () => {
    database = await openTestDatabase("walk", migrate);
    mongo = database.mongo;
    const tenants = [newId("tenant"), newId("tenant")];
    messages = Array.from({ length: MESSAGES }, (_, at) =>
      messageIn("delivered", { id: newId("message"), tenantId: tenants[at % 2] ?? "" }),
    );
    await documents().insertMany(messages.map(toDocument));
  });
  after(() => database?.close());

  const documents = () => mongo.db.collection<MessageDocument>("messages");
  async function readAll(
    tenantId: string | undefined,
    afterFirst: () => Promise<unknown> = async () => {},
  ): Promise<{ found: CheckedMessage[]; chunks: number }> {
    const snapshot = openMessageSnapshot(mongo.client, mongo.db);
    const found: CheckedMessage[] = [];
    let chunks = 0;
    try {
      for await (const chunk of snapshot.messages(tenantId)) {
        found.push(...chunk);
        chunks += 1;
        if (chunks === 1) await afterFirst();
      }
    } finally {
      await snapshot.close();
    }
    return { found, chunks };
  }
  const idsOf = (list: readonly { readonly id: string }[]) => list.map(({ id }) => id);

  it("reads one instant in chunks, without concurrent writes", async () => {
    const late = messageIn("delivered", { id: newId("message") });
    const { found, chunks } = await readAll(undefined, async () => {
      await documents().updateMany({}, { $set: { status: "undelivered" } });
      await documents().deleteOne({ _id: messages.at(-1)?.id ?? "" });
      await documents().insertOne(toDocument(late));
    });
    expect(chunks).to.be.greaterThan(2);
    expect(idsOf(found)).to.deep.equal(idsOf(messages));
    expect(new Set(found.map(({ status }) => status))).to.deep.equal(new Set(["delivered"]));
    expect(found.flatMap(checkMessage)).to.deep.equal([]);
    const { found: now } = await readAll(undefined);
    expect(now.at(-1)?.id).to.equal(late.id);
    expect(now.flatMap(checkMessage)).to.not.deep.equal([]);
  });

  it("reads one tenant's messages in order of their ids", async () => {
    const tenantId = messages[0]?.tenantId ?? "";
    const { found } = await readAll(tenantId);
    const own = messages.filter((message) => message.tenantId === tenantId);
    expect(idsOf(found)).to.deep.equal(idsOf(own));
  });

  it("contains the hold and charge of each message, and neither its text nor its number", async () => {
    const snapshot = openMessageSnapshot(mongo.client, mongo.db);
    const charges: MessageCharge[] = [];
    for await (const chunk of snapshot.charges(messages[0]?.tenantId)) charges.push(...chunk);
    await snapshot.close();
    const { tenantId, mode, heldAmount, amount, reservationId, updatedAtMs } =
      messages[0] as Message;
    const charge = { tenantId, mode, heldAmount, amount, reservationId, updatedAtMs };
    expect(charges[0]).to.deep.equal({ id: messages[0]?.id, status: "undelivered", ...charge });
  });
});
