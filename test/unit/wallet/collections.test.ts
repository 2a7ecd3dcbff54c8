/** Division of a batch's documents into MongoDB insert commands. */
import { expect } from "chai";
import type { ClientSession, Db } from "mongodb";
import { openCollections } from "../../../services/wallet/store/collections.ts";
import type {
  BatchDocument,
  ReservationDocument,
} from "../../../services/wallet/store/documents.ts";

describe("the insert commands of a batch", () => {
  const SESSION = {} as ClientSession;

  /** Collections on a database that records the documents per command and refuses one of them. */
  function recordedBy(shares: number[], refused?: number) {
    const db = {
      collection: () => ({}),
      async command({ documents }: { documents: readonly unknown[] }) {
        const before = shares.reduce((sum, share) => sum + share, 0);
        shares.push(documents.length);
        const index = (refused ?? Number.POSITIVE_INFINITY) - before;
        if (index >= documents.length) return {};
        return { writeErrors: [{ code: 11000, index, errmsg: "E11000 duplicate key" }] };
      },
    } as unknown as Db;
    return openCollections(db);
  }

  const reservations = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ _id: `rsv_${at}` }) as ReservationDocument);
  const batch = (movements: number) => ({ movements: Array(movements) }) as BatchDocument;

  for (const [what, documents, wanted] of [
    ["nothing", [], []],
    ["a full batch", reservations(4000), [4000]],
    ["more than a full batch", reservations(4001), [4000, 1]],
  ] as const) {
    it(`reservations, ${what}: ${wanted.join(", ") || "no command"}`, async () => {
      const shares: number[] = [];
      await recordedBy(shares).insert("reservations", documents, SESSION);
      expect(shares).to.deep.equal(wanted);
    });
  }

  for (const [what, documents, wanted] of [
    ["of one wallet with many movements", [batch(6000)], [1]],
    ["of many small wallets", Array.from({ length: 100 }, () => batch(9)), [100]],
    ["of many large wallets", Array.from({ length: 5 }, () => batch(1900)), [2, 2, 1]],
  ] as const) {
    it(`batches ${what}: ${wanted.join(", ")}`, async () => {
      const shares: number[] = [];
      await recordedBy(shares).insert("entries", documents, SESSION);
      expect(shares).to.deep.equal(wanted);
    });
  }

  it("reports the index of the document that violates a unique index, in any command", async () => {
    const shares: number[] = [];
    const failed = await recordedBy(shares, 4002)
      .insert("reservations", reservations(8001), SESSION)
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(failed).to.include({ code: 11000, index: 4002 });
    expect(shares).to.deep.equal([4000, 4000]);
  });
});
