import { expect } from "chai";
import { MongoClient } from "mongodb";
import type { Row } from "../../../services/campaign/domain/row.ts";
import { migrate } from "../../../services/campaign/migrate.ts";
import { createRowStore, type RowStore } from "../../../services/campaign/store/row-store.ts";
import type { RowStatus } from "../../../services/shared/core/campaign-status.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { startServers, type TestServers } from "../../support/servers.ts";

const ROWS = 200;
/** Rows of one import: documents of states begin and end inside. */
const STEP = 33;
const PAGE = 7;

const rowOf = (rowSet: string, index: number): Row => ({
  ...{ rowSet, index, to: `+23480${30_000_000 + index}`, variables: { name: `${index}` } },
  ...{ clientReference: undefined, status: "waiting", messageId: undefined, messageAtMs: 0 },
  ...{ held: 0n, amount: 0n, takenBack: [], error: undefined },
});

const error = { code: "invalid_recipient", message: "No." };
/** Each fifth row keeps waiting, a few fail, the first half of the others was delivered. */
function changed(row: Row): Row {
  const fed = { ...row, messageId: `msg_${row.index}`, messageAtMs: 1, held: 40_000n };
  if (row.index % 5 === 0) return { ...row, takenBack: ["msg_old"] };
  if (row.index % 31 === 1) return { ...row, status: "rejected", error };
  return row.index < ROWS / 2
    ? { ...fed, status: "delivered", amount: 40_000n }
    : { ...fed, status: "queued" };
}

describe("the rows of a campaign", function () {
  this.timeout(60_000);
  let servers: TestServers;
  let client: MongoClient;
  let database: string;
  before(async () => {
    servers = await startServers();
    client = await new MongoClient(servers.mongodbUri).connect();
    database = freshDatabase("rows");
    await migrate(client.db(database));
    for (const rowSet of ["cmp_1", "cmp_1~2"]) {
      for (let at = 0; at < ROWS; at += STEP) {
        const count = Math.min(STEP, ROWS - at);
        const step = Array.from({ length: count }, (_, place) => rowOf(rowSet, at + place));
        await inTransaction(rowSet, (rows) => rows.insert(step));
      }
    }
    await inTransaction("cmp_1", async (rows) => {
      const stored = await rows.page({ statuses: [], afterIndex: -1, limit: ROWS });
      await rows.save(stored.map((before) => ({ before, after: changed(before) })));
    });
  });
  after(async () => {
    await client?.db(database).dropDatabase();
    await client?.close();
    await servers?.stop();
  });

  const inTransaction = (rowSet: string, work: (rows: RowStore) => Promise<void>) =>
    client.withSession((session) =>
      session.withTransaction(() => work(createRowStore(client.db(database), rowSet, session))),
    );
  const reader = (rowSet: string) => createRowStore(client.db(database), rowSet, undefined);
  const expected = Array.from({ length: ROWS }, (_, index) => changed(rowOf("cmp_1", index)));

  async function pages(statuses: readonly RowStatus[]): Promise<Row[]> {
    const found: Row[] = [];
    for (;;) {
      const afterIndex = found.at(-1)?.index ?? -1;
      const page = await reader("cmp_1").page({ statuses, afterIndex, limit: PAGE });
      if (page.length === 0) return found;
      found.push(...page);
    }
  }

  it("have the states that were saved last, by place and by number", async () => {
    const indexes = [199, 3, 25, 0, 24];
    const rows = await reader("cmp_1").byIndex(indexes);
    expect(rows).to.deep.equal([0, 3, 24, 25, 199].map((index) => expected[index]));
    const numbers = indexes.map((index) => rowOf("cmp_1", index).to);
    const byNumber = await reader("cmp_1").byNumber([...numbers, "+2348039999999"]);
    expect(byNumber.toSorted((a, b) => a.index - b.index)).to.deep.equal(rows);
  });

  for (const statuses of [
    [],
    ["waiting"],
    ["rejected"],
    ["queued", "rejected"],
    ["cancelled"],
  ] satisfies RowStatus[][]) {
    it(`are listed in pages by the statuses ${statuses.join(", ") || "all"}`, async () => {
      const wanted = expected.filter(
        ({ status }) => statuses.length === 0 || statuses.some((one) => one === status),
      );
      expect(await pages(statuses)).to.deep.equal(wanted);
    });
  }

  it("of another set are others, although it has the same numbers", async () => {
    const rows = await reader("cmp_1~2").page({ statuses: [], afterIndex: -1, limit: ROWS });
    expect(rows).to.have.length(ROWS);
    expect(rows.every(({ status }) => status === "waiting")).to.equal(true);
  });

  it("keep their states when the transaction that changed them fails", async () => {
    const [before] = await reader("cmp_1~2").byIndex([7]);
    if (before === undefined) throw new Error("no row");
    const failing = inTransaction("cmp_1~2", async (rows) => {
      await rows.save([{ before, after: { ...before, status: "queued" } }]);
      const [within] = await rows.byIndex([7]);
      expect(within?.status).to.equal("queued");
      throw new Error("stop");
    });
    await failing.then(
      () => expect.fail("committed"),
      ({ message }: Error) => expect(message).to.equal("stop"),
    );
    expect(await reader("cmp_1~2").byIndex([7])).to.deep.equal([before]);
  });
});
