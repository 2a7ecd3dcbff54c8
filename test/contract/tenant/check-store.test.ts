/** Conformance suite of the port `CheckStore`, on MongoDB. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import type { CheckResult, CheckStore } from "../../../services/tenant/app/checks.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import { createCheckStore } from "../../../services/tenant/store/check-store.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";

const AT_MS = Date.now();
const DAY_MS = 86_400_000;

describe("the store of check results", () => {
  const database = useStoreDatabase("check_store", migrate);
  let store: CheckStore;
  before(() => {
    store = createCheckStore(database.parts().db);
  });

  const resultOf = (about: Partial<CheckResult> = {}): CheckResult => ({
    ...{ id: newId("check"), tenantId: "", person: "ada@example.org" },
    ...{ startedAtMs: AT_MS - 5000, finishedAtMs: AT_MS, isOk: true, breaches: [] },
    ...{ unlisted: 0, unfinished: [], compared: {}, ...about },
  });
  async function insert(about: Partial<CheckResult> = {}): Promise<CheckResult> {
    const result = resultOf(about);
    await store.insert(result);
    return result;
  }

  it("reads a result as it was stored, with any names of its counts", async () => {
    const result = await insert({
      ...{ tenantId: newId("tenant"), isOk: false, unlisted: 7 },
      breaches: [
        { invariant: 3, what: "a message has two charges", ids: [newId("message"), "$x"] },
        { invariant: 12, what: "", ids: [] },
      ],
      unfinished: ["wallet.entries: the service did not answer"],
      // As names of fields these would be operators and paths.
      compared: { messages: 4, "a.b": 5, $where: 6, "": 7 },
    });
    expect(await store.list(1)).to.deep.equal([result]);
    expect(await createCheckStore(database.parts().db).list(1)).to.deep.equal([result]);
  });

  it("lists the newest first, up to a bound, by the order of ids and not of insertion", async () => {
    const [first, second, third] = [resultOf(), resultOf(), resultOf()];
    for (const result of [second, third, first]) await store.insert(result);
    expect(await store.list(3)).to.deep.equal([third, second, first]);
    expect(await store.list(2)).to.deep.equal([third, second]);
  });

  it("keeps the first result of an id", async () => {
    const result = await insert();
    expect(await codeOf(store.insert({ ...result, isOk: false }))).not.to.equal("done");
    expect(await store.list(1)).to.deep.equal([result]);
  });

  it("keeps a result for 90 days after the end of its check", async () => {
    const { id } = await insert({ startedAtMs: AT_MS - DAY_MS });
    expect(await database.removalMs("checks", id)).to.equal(AT_MS + 90 * DAY_MS);
  });
});
