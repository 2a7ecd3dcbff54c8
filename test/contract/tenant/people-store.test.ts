/** Conformance suite of the port `PeopleStore`, on MongoDB. */
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import type {
  Member,
  PeopleStore,
  SessionStore,
} from "../../../services/tenant/app/identity-ports.ts";
import { hashSecret } from "../../../services/tenant/domain/api-key.ts";
import { newSessionTimes, type Session } from "../../../services/tenant/domain/session.ts";
import type { SignInLink } from "../../../services/tenant/domain/sign-in-link.ts";
import { createTenant } from "../../../services/tenant/domain/tenant.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import { createPeopleStore } from "../../../services/tenant/store/people-store.ts";
import { createSessionStore } from "../../../services/tenant/store/session-store.ts";
import { createTenantStore } from "../../../services/tenant/store/tenant-store.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { useStoreDatabase } from "../../support/store-suite.ts";

const AT_MS = Date.now();
const DAY_MS = 86_400_000;

describe("the store of people", () => {
  const database = useStoreDatabase("people_store", migrate);
  let store: PeopleStore;
  let other: PeopleStore;
  let sessions: SessionStore;
  before(() => {
    const { client, db, audit } = database.parts();
    store = createPeopleStore(client, db, audit);
    other = createPeopleStore(client, db, audit);
    sessions = createSessionStore(client, db, audit);
  });

  /** A tenant without people. */
  async function newTenant(): Promise<string> {
    const { client, db, audit } = database.parts();
    const tenant = createTenant(newId("tenant"), { name: freshDatabase("tenant") }, AT_MS);
    await createTenantStore(client, db, audit).insertTenant(tenant);
    return tenant.id;
  }
  /** A person with an address of its own. */
  const personOf = (tenantId: string, about: Partial<Member> = {}): Member => {
    const id = newId("person");
    const email = `${id.toLowerCase()}@example.org`;
    return { id, tenantId, email, role: "viewer", invitedAtMs: AT_MS, ...about };
  };
  const invitationOf = ({ id, tenantId }: Member, token: string = newId("request")) => ({
    hash: hashSecret(token),
    link: { kind: "invitation", expiresAtMs: AT_MS + DAY_MS, personId: id, tenantId } as SignInLink,
  });
  const invite = (person: Member, on = store, max = 1000) =>
    on.invite(person, invitationOf(person), max);
  /** Invites a person, and returns the member. */
  async function add(tenantId: string, about: Partial<Member> = {}): Promise<Member> {
    const done = await invite(personOf(tenantId, about));
    if (typeof done === "string") throw new Error(done);
    return done.member;
  }
  const sessionOf = ({ id, tenantId, email, role }: Member, nowMs = AT_MS + 1): Session => ({
    ...{ id: newId("session"), tenantId, personId: id, name: email, role },
    ...{ ...newSessionTimes(nowMs), address: "203.0.113.7", userAgent: "test" },
  });
  /** Opens a session by a link that names no tenant, unless the person is no member. */
  async function signIn(member: Member, nowMs?: number): Promise<Session> {
    const session = sessionOf(member, nowMs);
    const hash = hashSecret(newId("request"));
    const link = { kind: "sign_in", expiresAtMs: AT_MS + DAY_MS, personId: member.id } as const;
    await sessions.insertLink(hash, link);
    const options = { verifiesEmail: false };
    await sessions.openSession(hash, session, hashSecret(session.id), options);
    return session;
  }
  const rolesOf = async (tenantId: string) =>
    (await store.listMembers(tenantId)).map(({ role }) => role);

  describe("an invitation", () => {
    it("makes a member, its link and an audit entry, which are read as they were stored", async () => {
      const tenantId = await newTenant();
      const person = personOf(tenantId, { role: "finance" });
      const invitation = invitationOf(person);
      expect(await store.invite(person, invitation, 10)).to.deep.equal({ member: person });
      expect(await store.listMembers(tenantId)).to.deep.equal([person]);
      expect(await sessions.findLink(invitation.hash)).to.deep.equal(invitation.link);
      expect(await store.findPersonByEmail(person.email)).to.equal(person.id);
      const [entry, ...more] = await database.auditOf(person.id);
      expect(more).to.deep.equal([]);
      expect(entry?.before).to.equal(undefined);
      expect(entry?.after).to.include({ id: person.id, tenant_id: tenantId, role: "finance" });
    });

    it("of one address to several tenants at once is of one person, whose tenants are in order", async () => {
      const tenants = await Promise.all([1, 2, 3, 4].map(newTenant));
      const email = `${newId("person").toLowerCase()}@example.org`;
      const wanted = tenants.map((tenantId, at) =>
        personOf(tenantId, { email, invitedAtMs: AT_MS + at }),
      );
      const invited = await Promise.all(
        wanted.map((person, at) => invite(person, at % 2 === 0 ? store : other)),
      );
      const ids = invited.map((done) => (typeof done === "string" ? done : done.member.id));
      const personId = await store.findPersonByEmail(email);
      expect(ids).to.deep.equal(tenants.map(() => personId));
      const memberships = await store.membershipsOf(personId ?? "");
      expect(memberships.map(({ tenantId }) => tenantId)).to.deep.equal(tenants);
      const pairs = [tenants[2], newId("tenant"), tenants[0]].map((tenantId = "") => ({
        ...{ tenantId, personId: personId ?? "" },
      }));
      const found = await store.findMembers(pairs);
      expect(found.map(({ tenantId }) => tenantId)).to.have.members([tenants[0], tenants[2]]);
      expect(await store.findMembers([])).to.deep.equal([]);
    });

    it("is repeated until its person has joined: the id stays, the role and the time are the last ones", async () => {
      const tenantId = await newTenant();
      const first = await add(tenantId);
      const again = personOf(tenantId, {
        ...{ email: first.email, role: "sender", invitedAtMs: AT_MS + 7 },
      });
      const invitation = invitationOf(again);
      const member = { ...again, id: first.id };
      expect(await store.invite(again, invitation, 10)).to.deep.equal({ member });
      expect(await store.listMembers(tenantId)).to.deep.equal([member]);
      // The link must open the person that is stored.
      expect((await sessions.findLink(invitation.hash))?.personId).to.equal(first.id);
      await signIn(member, AT_MS + 9);
      const late = personOf(tenantId, { email: first.email, role: "owner" });
      const refused = invitationOf(late);
      expect(await store.invite(late, refused, 10)).to.equal("member");
      expect(await sessions.findLink(refused.hash)).to.equal(undefined);
      expect(await store.listMembers(tenantId)).to.deep.equal([
        { ...member, joinedAtMs: AT_MS + 9 },
      ]);
      expect(await database.auditOf(first.id)).to.have.length(2);
    });

    it("finds a tenant full at its bound, also when many come at once; a repeat needs no place", async () => {
      const tenantId = await newTenant();
      const wanted = Array.from({ length: 9 }, () => personOf(tenantId));
      const invited = await Promise.all(
        wanted.map((person, at) => invite(person, at % 2 === 0 ? store : other, 3)),
      );
      expect(invited.filter((done) => done === "too_many")).to.have.length(6);
      const members = await store.listMembers(tenantId);
      expect(members).to.have.length(3);
      for (const { id } of members) expect(await database.auditOf(id)).to.have.length(1);
      const [one] = members as [Member];
      expect(await invite(personOf(tenantId, { email: one.email }), store, 3)).to.deep.equal({
        member: { ...one, invitedAtMs: AT_MS },
      });
      expect(await invite(personOf(tenantId), store, 3)).to.equal("too_many");
    });
  });

  it("lists a tenant's people in the order of their addresses", async () => {
    const tenantId = await newTenant();
    const word = newId("request").toLowerCase();
    for (const first of ["c", "a", "b"]) await add(tenantId, { email: `${first}.${word}@a.org` });
    await add(await newTenant());
    const emails = (await store.listMembers(tenantId)).map(({ email }) => email);
    expect(emails).to.deep.equal(["a", "b", "c"].map((first) => `${first}.${word}@a.org`));
    expect(await store.listMembers(newId("tenant"))).to.deep.equal([]);
  });

  describe("a change of a role", () => {
    it("is stored with an audit entry; the same role once more changes nothing", async () => {
      const tenantId = await newTenant();
      const member = await add(tenantId);
      const changed = { member: { ...member, role: "sender" } };
      for (const _ of [1, 2]) {
        expect(await store.changeRole(tenantId, member.id, "sender")).to.deep.equal(changed);
      }
      expect(await rolesOf(tenantId)).to.deep.equal(["sender"]);
      const [, ...changes] = await database.auditOf(member.id);
      expect(changes).to.deep.equal([{ before: { role: "viewer" }, after: { role: "sender" } }]);
    });

    it("finds no person of another tenant, and none that is unknown", async () => {
      const [mine, theirs] = [await newTenant(), await newTenant()];
      const member = await add(theirs);
      for (const personId of [member.id, newId("person")]) {
        expect(await store.changeRole(mine, personId, "owner")).to.equal("not_found");
        expect(await store.removeMember(mine, personId)).to.equal("not_found");
      }
      expect(await store.listMembers(theirs)).to.deep.equal([member]);
    });
  });

  it("is not changed without an audit entry: no person, link, role or removal", async () => {
    const tenantId = await newTenant();
    const member = await add(tenantId);
    const session = await signIn(member);
    const joined = { ...member, joinedAtMs: session.createdAtMs };
    const person = personOf(tenantId);
    const invitation = invitationOf(person);
    const changes: readonly [string, () => Promise<unknown>][] = [
      [person.id, () => store.invite(person, invitation, 10)],
      [member.id, () => store.changeRole(tenantId, member.id, "owner")],
      [member.id, () => store.removeMember(tenantId, member.id)],
    ];
    for (const [subject, change] of changes) {
      expect(await database.withoutAudit(subject, change)).to.equal("internal_error");
    }
    expect(await store.listMembers(tenantId)).to.deep.equal([joined]);
    expect(await sessions.findLink(invitation.hash)).to.equal(undefined);
    expect(await sessions.findSession(session.id)).to.deep.equal(session);
  });

  describe("the last owner", () => {
    it("keeps the role and the place, until another person is an owner", async () => {
      const tenantId = await newTenant();
      const owner = await add(tenantId, { role: "owner" });
      const second = await add(tenantId);
      // An owner of another tenant is none of this one.
      await add(await newTenant(), { role: "owner" });
      expect(await store.changeRole(tenantId, owner.id, "viewer")).to.equal("last_owner");
      expect(await store.removeMember(tenantId, owner.id)).to.equal("last_owner");
      expect(await database.auditOf(owner.id)).to.have.length(1);
      await store.changeRole(tenantId, second.id, "owner");
      expect(await store.removeMember(tenantId, owner.id)).to.deep.equal({ hashes: [] });
      expect(await store.changeRole(tenantId, second.id, "viewer")).to.equal("last_owner");
      expect(await rolesOf(tenantId)).to.deep.equal(["owner"]);
    });

    it("remains when two owners remove or demote each other at once, on two processes", async () => {
      for (let round = 0; round < 6; round += 1) {
        const tenantId = await newTenant();
        const [one, two] = [
          await add(tenantId, { role: "owner" }),
          await add(tenantId, { role: "owner" }),
        ];
        const results = await Promise.all([
          round % 2 === 0
            ? store.removeMember(tenantId, one.id)
            : store.changeRole(tenantId, one.id, "viewer"),
          other.removeMember(tenantId, two.id),
        ]);
        expect(results.filter((result) => result === "last_owner")).to.have.length(1);
        const owners = (await rolesOf(tenantId)).filter((role) => role === "owner");
        expect(owners).to.have.length(1);
      }
    });
  });

  describe("a removal", () => {
    it("ends the person's sessions and invitations of the tenant once, and no other ones", async () => {
      const [tenantId, elsewhere] = [await newTenant(), await newTenant()];
      const person = personOf(tenantId);
      const invitation = invitationOf(person);
      await store.invite(person, invitation, 10);
      const member = { ...person, tenantId: elsewhere };
      const kept = invitationOf(member);
      await store.invite(member, kept, 10);
      const [one, two] = [await signIn(person), await signIn(person)];
      const away = await signIn(member);
      const stays = await signIn(await add(tenantId));

      const removals = await Promise.all([
        store.removeMember(tenantId, person.id),
        other.removeMember(tenantId, person.id),
      ]);
      const [removed] = removals.filter((result) => typeof result !== "string");
      expect(removals.filter((result) => result === "not_found")).to.have.length(1);
      expect(removed?.hashes).to.have.deep.members([one, two].map(({ id }) => hashSecret(id)));
      for (const { id } of [one, two]) expect(await sessions.findSession(id)).to.equal(undefined);
      for (const left of [away, stays]) {
        expect(await sessions.findSession(left.id)).to.deep.equal(left);
      }
      expect(await sessions.findLink(invitation.hash)).to.equal(undefined);
      expect(await sessions.findLink(kept.hash)).to.deep.equal(kept.link);
      const trail = await database.auditOf(person.id);
      expect(trail.filter(({ after }) => after === undefined)).to.have.length(1);
    });

    it("leaves no session that a link or another tenant's session opens at the same moment", async () => {
      for (let round = 0; round < 8; round += 1) {
        const [tenantId, elsewhere] = [await newTenant(), await newTenant()];
        const member = await add(tenantId);
        await invite({ ...member, tenantId: elsewhere });
        const [away] = [await signIn({ ...member, tenantId: elsewhere }), await signIn(member)];
        const moved = sessionOf(member);
        const [opened] = await Promise.all([
          signIn(member),
          sessions.replaceSession(away, moved, hashSecret(moved.id)),
          store.removeMember(tenantId, member.id),
        ]);
        for (const { id } of [opened, moved]) {
          expect(await sessions.findSession(id), `round ${round}`).to.equal(undefined);
        }
      }
    });

    it("leaves an address without a person once it is in no tenant, which may be invited again", async () => {
      const [tenantId, elsewhere] = [await newTenant(), await newTenant()];
      const member = await add(tenantId);
      await invite({ ...member, tenantId: elsewhere });
      await store.removeMember(tenantId, member.id);
      expect(await store.findPersonByEmail(member.email)).to.equal(member.id);
      await store.removeMember(elsewhere, member.id);
      expect(await store.findPersonByEmail(member.email)).to.equal(undefined);
      expect(await store.membershipsOf(member.id)).to.deep.equal([]);
      const back = await add(tenantId, { email: member.email });
      expect(back.id).to.equal(member.id);
      const session = await signIn(back);
      expect(await sessions.findSession(session.id)).to.deep.equal(session);
    });
  });
});
