/** Operators, their links and sessions on a real database. */
import { expect } from "chai";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import type { AppError } from "../../../services/shared/core/errors.ts";
import { createAuditLog } from "../../../services/shared/io/audit-log.ts";
import type { Mongo } from "../../../services/shared/io/mongo.ts";
import {
  createOperatorService,
  type OperatorService,
} from "../../../services/tenant/app/operators.ts";
import { hashSecret } from "../../../services/tenant/domain/api-key.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import { createOperatorStore } from "../../../services/tenant/store/operator-store.ts";
import { openTestDatabase, type TestDatabase } from "../../support/test-database.ts";

const BROWSER = { address: "203.0.113.7", userAgent: "test" };
const HOUR_MS = 3_600_000;
const PERSON = "ada@example.org";

describe("operators", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let mongo: Mongo;
  let clock: ReturnType<typeof createManualClock>;
  let operators: OperatorService;

  before(async () => {
    database = await openTestDatabase("tenant", migrate);
    mongo = database.mongo;
    clock = createManualClock(Date.now());
    operators = createOperatorService({
      store: createOperatorStore(mongo.client, mongo.db, createAuditLog(mongo.db, HOUR_MS)),
      linkUrl: (token) => token,
      clock,
    });
  });
  after(() => database?.close());

  const signIn = async (person: string) =>
    operators.openSession((await operators.createLink(person, undefined, 0)).url, BROWSER);
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      (error: AppError) => error.code,
    );
  const isSignedIn = async (secret: string) =>
    (await operators.authenticate(hashSecret(secret))) !== undefined;

  it("a new person gets the least role, and a link without a role changes none", async () => {
    expect((await operators.createLink("new@example.org", undefined, 0)).operator.role).to.equal(
      "support",
    );
    await operators.createLink("new@example.org", "admin", 0);
    expect((await operators.createLink("New@Example.org", undefined, 0)).operator.role).to.equal(
      "admin",
    );
  });

  it("another role holds in sessions that are open", async () => {
    const { secret } = await signIn("moved@example.org");
    await operators.createLink("moved@example.org", "operator", 0);
    expect((await operators.authenticate(hashSecret(secret)))?.role).to.equal("operator");
  });

  it("a removed operator's sessions and links end at once", async () => {
    const person = "gone@example.org";
    const { secret } = await signIn(person);
    const { url } = await operators.createLink(person, undefined, 0);
    expect(await isSignedIn(secret)).to.equal(true);
    await operators.removeOperator(person);
    expect(await isSignedIn(secret)).to.equal(false);
    expect(await codeOf(operators.openSession(url, BROWSER))).to.equal("not_found");
    expect(await codeOf(operators.removeOperator(person))).to.equal("not_found");
  });

  it("a session ends after an hour without use, and after twelve hours in any case", async () => {
    const idle = await signIn(PERSON);
    clock.advance(HOUR_MS);
    expect(await isSignedIn(idle.secret)).to.equal(false);
    const used = await signIn(PERSON);
    for (let half = 1; half < 24; half += 1) {
      clock.advance(HOUR_MS / 2);
      expect(await isSignedIn(used.secret), `after ${half / 2} h`).to.equal(true);
    }
    clock.advance(HOUR_MS / 2);
    expect(await isSignedIn(used.secret)).to.equal(false);
  });

  it("a link is too old after its lifetime, which is an hour at most", async () => {
    const { url } = await operators.createLink(PERSON, undefined, 60_000);
    clock.advance(60_000);
    expect(await codeOf(operators.openSession(url, BROWSER))).to.equal("not_found");
    expect(await codeOf(operators.createLink(PERSON, undefined, HOUR_MS + 1))).to.equal(
      "validation_error",
    );
  });

  it("a session is ended by its person, and by no other", async () => {
    const [own, other] = [await signIn(PERSON), await signIn("other@example.org")];
    const ended = operators.endSession(other.session.id, own.session.id);
    expect(await codeOf(ended)).to.equal("not_found");
    const listed = await operators.listSessions(own.session.id);
    expect(listed.every(({ session }) => session.person === PERSON)).to.equal(true);
    await operators.endSession(own.session.id, own.session.id);
    expect(await isSignedIn(own.secret)).to.equal(false);
  });
});
