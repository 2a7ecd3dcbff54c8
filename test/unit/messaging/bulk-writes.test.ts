/** How documents are shared out among commands, none of which may have more than 16 MB. */
import { expect } from "chai";
import { Binary, type ClientSession, type Db, type Document } from "mongodb";
import { insertAll } from "../../../services/messaging/store/bulk-writes.ts";

const MIB = 1024 * 1024;

describe("an insert of many documents", () => {
  async function sharesOf(documents: readonly Document[]): Promise<number[]> {
    const shares: number[] = [];
    const db = {
      async command({ documents: part }: { documents: readonly Document[] }) {
        shares.push(part.length);
        return {};
      },
    } as unknown as Db;
    await insertAll(db, "messages", documents, {} as ClientSession);
    return shares;
  }

  const many = (count: number, document: Document) => Array.from({ length: count }, () => document);

  for (const [what, documents, shares] of [
    ["nothing", [], []],
    ["as many as may go together", many(256, { body: "Hello" }), [256]],
    ["more", many(600, { body: "Hello" }), [256, 256, 88]],
    ["large bodies, as rejected items are kept", many(3, { body: "x".repeat(MIB) }), [1, 1, 1]],
    ["a large one among others", [{}, { body: "x".repeat(2 * MIB) }, {}, {}], [1, 1, 2]],
    ["long recipients", many(3, { to: "1".repeat(MIB / 2) }), [2, 1]],
    ["stored answers", many(3, { response: new Binary(Buffer.alloc(2 * MIB)) }), [2, 1]],
  ] as const) {
    it(`${what}: ${shares.join(", ")}`, async () => {
      expect(await sharesOf(documents)).to.deep.equal(shares);
    });
  }
});
