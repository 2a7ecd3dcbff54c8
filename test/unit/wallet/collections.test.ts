/** How the documents of a batch of commands are shared out among MongoDB's commands. */
import { expect } from "chai";
import type { ClientSession, Db } from "mongodb";
import { openCollections } from "../../../services/wallet/store/collections.ts";
import type {
  BatchDocument,
  ReservationDocument,
} from "../../../services/wallet/store/documents.ts";

describe("what a batch of commands adds", () => {
  const SESSION = {} as ClientSession;

  /** The collections over a database that notes how many documents each command has, and refuses one. */
  function notedBy(shares: number[], refused?: number) {
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
      await notedBy(shares).insert("reservations", documents, SESSION);
      expect(shares).to.deep.equal(wanted);
    });
  }

  for (const [what, documents, wanted] of [
    ["of one wallet, however many movements", [batch(6000)], [1]],
    ["of many small wallets", Array.from({ length: 100 }, () => batch(9)), [100]],
    ["of many wallets with much", Array.from({ length: 5 }, () => batch(1900)), [2, 2, 1]],
  ] as const) {
    it(`batches ${what}: ${wanted.join(", ")}`, async () => {
      const shares: number[] = [];
      await notedBy(shares).insert("entries", documents, SESSION);
      expect(shares).to.deep.equal(wanted);
    });
  }

  it("tells which document met a unique index, in whichever command it was", async () => {
    const shares: number[] = [];
    const failed = await notedBy(shares, 4002)
      .insert("reservations", reservations(8001), SESSION)
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(failed).to.include({ code: 11000, index: 4002 });
    expect(shares).to.deep.equal([4000, 4000]);
  });
});
