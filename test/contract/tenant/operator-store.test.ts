/** Conformance suite of the port `OperatorStore`, on MongoDB. */
import { expect } from "chai";
import { Binary } from "mongodb";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import type { OperatorRole } from "../../../services/shared/core/operator-roles.ts";
import type { OperatorStore } from "../../../services/tenant/app/operator-ports.ts";
import { hashSecret } from "../../../services/tenant/domain/api-key.ts";
import { type OperatorSession, roleAfter } from "../../../services/tenant/domain/operator.ts";
import { newSessionTimes, SESSION_MS } from "../../../services/tenant/domain/session.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import { createOperatorStore } from "../../../services/tenant/store/operator-store.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";

const AT_MS = Date.now();
const HOUR_MS = 3_600_000;

describe("the store of operators", () => {
  const database = useStoreDatabase("operator_store", migrate);
  let store: OperatorStore;
  let other: OperatorStore;
  before(() => {
    const { client, db, audit } = database.parts();
    store = createOperatorStore(client, db, audit);
    other = createOperatorStore(client, db, audit);
  });

  const newPerson = (first = "p") => `${first}.${newId("person").toLowerCase()}@example.org`;
  const newHash = () => hashSecret(newId("request"));
  /** Adds a link with a role, or with the present role; returns its hash. */
  async function addLink(person: string, role?: OperatorRole, nowMs = AT_MS): Promise<Buffer> {
    const hash = newHash();
    const link = { person, expiresAtMs: nowMs + HOUR_MS };
    await store.addLink(hash, link, (present) => roleAfter(role, present), nowMs);
    return hash;
  }
  const sessionOf = (person: string, about: Partial<OperatorSession> = {}): OperatorSession => ({
    ...{ id: newId("session"), person, ...newSessionTimes(AT_MS) },
    ...{ address: "203.0.113.7", userAgent: "test", ...about },
  });
  const hashOf = ({ id }: OperatorSession) => hashSecret(id);
  const openBy = (linkHash: Buffer, session: OperatorSession, on = store) =>
    on.openSession(linkHash, session, hashOf(session));
  /** Signs an operator in by a link of its own. */
  async function signIn(person: string, about: Partial<OperatorSession> = {}) {
    const session = sessionOf(person, about);
    expect(await openBy(await addLink(person), session)).not.to.equal(undefined);
    return session;
  }

  describe("a link", () => {
    it("makes its operator with the role that is decided, and leaves an audit entry", async () => {
      const person = newPerson();
      const hash = newHash();
      const link = { person, expiresAtMs: AT_MS + HOUR_MS };
      const given: unknown[] = [];
      const decide = (present: OperatorRole | undefined): OperatorRole => {
        given.push(present);
        return "finance";
      };
      const operator = { person, role: "finance", createdAtMs: AT_MS };
      expect(await store.addLink(hash, link, decide, AT_MS)).to.deep.equal(operator);
      expect(await other.findOperator(person)).to.deep.equal(operator);
      expect(await other.findLink(hash)).to.deep.equal(link);
      expect(await store.findLink(newHash())).to.equal(undefined);
      expect(await database.removalMs("operator_links", new Binary(hash))).to.equal(
        link.expiresAtMs,
      );
      await store.addLink(newHash(), link, decide, AT_MS + 5);
      expect(await store.findOperator(person)).to.deep.equal(operator);
      expect(given).to.deep.equal([undefined, "finance"]);
      const [entry, ...more] = await database.auditOf(person);
      expect(entry?.before).to.equal(undefined);
      expect(entry?.after).to.include({ person, role: "finance" });
      expect(more).to.have.length(1);
    });

    it("and its operator are not stored when the decision is a refusal", async () => {
      const person = newPerson();
      const hash = newHash();
      const link = { person, expiresAtMs: AT_MS + HOUR_MS };
      const refuse = () => {
        throw new AppError("not_found", "This address is no operator's.");
      };
      expect(await codeOf(store.addLink(hash, link, refuse, AT_MS))).to.equal("not_found");
      expect(await store.findLink(hash)).to.equal(undefined);
      expect(await store.findOperator(person)).to.equal(undefined);
      expect(await database.auditOf(person)).to.deep.equal([]);
    });

    it("is stored for each of several calls at once for a new operator, on two processes", async () => {
      for (let round = 0; round < 5; round += 1) {
        const person = newPerson();
        const hashes = Array.from({ length: 6 }, newHash);
        const link = { person, expiresAtMs: AT_MS + HOUR_MS };
        const codes = await Promise.all(
          hashes.map((hash, at) =>
            codeOf([store, other][at % 2]?.addLink(hash, link, () => "support", AT_MS) as never),
          ),
        );
        expect(codes).to.deep.equal(hashes.map(() => "done"));
        const links = await Promise.all(hashes.map((hash) => store.findLink(hash)));
        expect(links).to.deep.equal(hashes.map(() => link));
      }
    });

    it("signs in one of fifteen browsers that use it at once on two processes", async () => {
      const person = newPerson();
      const hash = await addLink(person);
      const wanted = Array.from({ length: 15 }, () => sessionOf(person));
      const opened = await Promise.all(
        wanted.map((session, at) => openBy(hash, session, at % 2 === 0 ? store : other)),
      );
      const session = wanted.filter((_, at) => opened[at] !== undefined);
      expect(session).to.have.length(1);
      expect(await store.listSessions(person, 100)).to.deep.equal(session);
      expect(await store.findLink(hash)).to.equal(undefined);
      const trails = await Promise.all(wanted.map(({ id }) => database.auditOf(id)));
      expect(trails.flat()).to.have.length(1);
    });

    it("is left when its session cannot be stored, and the session is not there without it", async () => {
      const person = newPerson();
      const taken = await signIn(person);
      const hash = await addLink(person);
      expect(await codeOf(openBy(hash, taken))).to.equal("internal_error");
      expect(await store.findLink(hash)).not.to.equal(undefined);
      const unlinked = sessionOf(person);
      expect(await openBy(newHash(), unlinked)).to.equal(undefined);
      expect(await store.findSession(unlinked.id)).to.equal(undefined);
    });
  });

  describe("a session", () => {
    it("is found by its id and by the hash of its secret as it was stored; the operator has its time", async () => {
      const person = newPerson();
      const hash = await addLink(person, "admin");
      const session = sessionOf(person, { createdAtMs: AT_MS + 7 });
      const operator = { person, role: "admin", createdAtMs: AT_MS, lastSignInAtMs: AT_MS + 7 };
      expect(await openBy(hash, session)).to.deep.equal(operator);
      expect(await store.findOperator(person)).to.deep.equal(operator);
      expect(await other.findSession(session.id)).to.deep.equal(session);
      expect(await other.findByHash(hashOf(session))).to.deep.equal(session);
      expect(await store.findSession(newId("session"))).to.equal(undefined);
      expect(await store.findByHash(newHash())).to.equal(undefined);
      const removalMs = await database.removalMs("operator_sessions", session.id);
      expect(removalMs).to.equal(AT_MS + SESSION_MS);
    });

    it("is listed with the operator's others, newest first, up to a bound", async () => {
      const person = newPerson();
      const made: OperatorSession[] = [];
      for (let at = 0; at < 3; at += 1) made.push(await signIn(person));
      await signIn(newPerson());
      expect(await store.listSessions(person, 10)).to.deep.equal(made.toReversed());
      expect(await store.listSessions(person, 2)).to.deep.equal(made.toReversed().slice(0, 2));
    });

    it("is ended alone, with one audit entry after several calls", async () => {
      const person = newPerson();
      const [ended, left] = [await signIn(person), await signIn(person)];
      await Promise.all([store, other].map((on) => on.endSession(ended.id)));
      await store.endSession(newId("session"));
      expect(await store.listSessions(person, 10)).to.deep.equal([left]);
      expect(await store.findByHash(hashOf(ended))).to.equal(undefined);
      const trail = await database.auditOf(ended.id);
      expect(trail.map(({ after }) => after === undefined)).to.deep.equal([false, true]);
    });

    it("keeps the latest of its uses, in each order of storing them", async () => {
      const session = await signIn(newPerson());
      for (const ms of [7, 9, 8]) await store.touchSession(session.id, AT_MS + ms);
      await store.touchSession(newId("session"), AT_MS + 11);
      expect((await store.findSession(session.id))?.lastSeenAtMs).to.equal(AT_MS + 9);
    });
  });

  it("is not changed without an audit entry: no link, session, end or removal", async () => {
    const [person, stranger] = [newPerson(), newPerson()];
    const session = await signIn(person);
    const operator = await store.findOperator(person);
    const [hash, second] = [await addLink(person), sessionOf(person, { createdAtMs: AT_MS + 9 })];
    const refused = newHash();
    const link = { person: stranger, expiresAtMs: AT_MS + HOUR_MS };
    const changes: readonly [string, () => Promise<unknown>][] = [
      [stranger, () => store.addLink(refused, link, () => "admin", AT_MS)],
      [second.id, () => openBy(hash, second)],
      [session.id, () => store.endSession(session.id)],
      [person, () => store.removeOperator(person)],
    ];
    for (const [subject, change] of changes) {
      expect(await database.withoutAudit(subject, change)).to.equal("internal_error");
    }
    expect(await store.findOperator(stranger)).to.equal(undefined);
    expect(await store.findLink(refused)).to.equal(undefined);
    expect(await store.findLink(hash)).not.to.equal(undefined);
    expect(await store.findOperator(person)).to.deep.equal(operator);
    expect(await store.listSessions(person, 10)).to.deep.equal([session]);
  });

  it("lists operators in the order of their addresses, up to a bound", async () => {
    const people = ["!c", "!a", "!b"].map(newPerson);
    for (const person of people) await addLink(person);
    const listed = (await store.listOperators(3)).map(({ person }) => person);
    expect(listed).to.deep.equal(people.toSorted());
    expect((await store.listOperators(2)).map(({ person }) => person)).to.deep.equal(
      people.toSorted().slice(0, 2),
    );
  });

  describe("a removal", () => {
    it("ends the operator's sessions and links at once, once, and no other ones", async () => {
      const [person, stays] = [newPerson(), newPerson()];
      const [session, kept] = [await signIn(person), await signIn(stays)];
      const [hash, keptHash] = [await addLink(person), await addLink(stays)];
      const removed = await Promise.all([store, other].map((on) => on.removeOperator(person)));
      expect(removed.filter(Boolean)).to.have.length(1);
      expect(await store.removeOperator(newPerson())).to.equal(false);
      expect(await store.findOperator(person)).to.equal(undefined);
      expect(await store.findByHash(hashOf(session))).to.equal(undefined);
      expect(await store.findLink(hash)).to.equal(undefined);
      expect(await openBy(hash, sessionOf(person))).to.equal(undefined);
      expect(await store.findSession(kept.id)).to.deep.equal(kept);
      expect(await store.findLink(keptHash)).not.to.equal(undefined);
      const trail = await database.auditOf(person);
      expect(trail.filter(({ after }) => after === undefined)).to.have.length(1);
    });

    it("leaves no session that a link opens at the same moment", async () => {
      for (let round = 0; round < 8; round += 1) {
        const person = newPerson();
        const [hash, session] = [await addLink(person), sessionOf(person)];
        await Promise.all([openBy(hash, session), other.removeOperator(person)]);
        expect(await store.findSession(session.id), `round ${round}`).to.equal(undefined);
        expect(await store.findOperator(person)).to.equal(undefined);
      }
    });
  });
});
