/** Conformance suite of the port `SessionStore`, on MongoDB. */
import { expect } from "chai";
import { Binary } from "mongodb";
import { newId } from "../../../services/shared/core/ids.ts";
import { createSecretBox } from "../../../services/shared/io/encryption.ts";
import type { Member, SessionStore } from "../../../services/tenant/app/identity-ports.ts";
import type { TenantStore } from "../../../services/tenant/app/tenants.ts";
import { hashSecret } from "../../../services/tenant/domain/api-key.ts";
import type { UsedCode } from "../../../services/tenant/domain/second-factor.ts";
import {
  newSessionTimes,
  SESSION_MS,
  type Session,
} from "../../../services/tenant/domain/session.ts";
import { countAttempt } from "../../../services/tenant/domain/sign-in-attempts.ts";
import type { SignInLink } from "../../../services/tenant/domain/sign-in-link.ts";
import { createTenant, type Tenant } from "../../../services/tenant/domain/tenant.ts";
import { migrate } from "../../../services/tenant/migrate.ts";
import { createPeopleStore } from "../../../services/tenant/store/people-store.ts";
import { createSecondFactorStore } from "../../../services/tenant/store/second-factor-store.ts";
import { createSessionStore } from "../../../services/tenant/store/session-store.ts";
import { createTenantStore } from "../../../services/tenant/store/tenant-store.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { codeOf, useStoreDatabase } from "../../support/store-suite.ts";

const AT_MS = Date.now();
const HOUR_MS = 3_600_000;
const BOX = createSecretBox(`k1:${Buffer.alloc(32, 1).toString("base64")}`);

describe("the store of sessions", () => {
  const database = useStoreDatabase("session_store", migrate);
  let store: SessionStore;
  let other: SessionStore;
  let tenants: TenantStore;
  before(() => {
    const { client, db, audit } = database.parts();
    store = createSessionStore(client, db, audit);
    other = createSessionStore(client, db, audit);
    tenants = createTenantStore(client, db, audit);
  });
  const people = () => {
    const { client, db, audit } = database.parts();
    return createPeopleStore(client, db, audit);
  };

  async function newTenant(about: Partial<Tenant> = {}): Promise<Tenant> {
    const id = newId("tenant");
    const tenant = { ...createTenant(id, { name: freshDatabase("tenant") }, AT_MS), ...about };
    await tenants.insertTenant(tenant);
    return tenant;
  }
  /** A person of a tenant who has not joined. */
  async function newMember(tenantId: string): Promise<Member> {
    const id = newId("person");
    const email = `${id.toLowerCase()}@example.org`;
    const member: Member = { id, tenantId, email, role: "owner", invitedAtMs: AT_MS };
    const link = { kind: "invitation", expiresAtMs: AT_MS + HOUR_MS } as const;
    await people().invite(member, { hash: hashSecret(newId("request")), link }, 1000);
    return member;
  }
  const newMemberOfOwn = async () => newMember((await newTenant()).id);
  const sessionOf = (tenantId: string, about: Partial<Session> = {}): Session => ({
    ...{ id: newId("session"), tenantId, name: "portal", role: "viewer" },
    ...{ ...newSessionTimes(AT_MS), address: "203.0.113.7", userAgent: "test" },
    ...about,
  });
  const memberSession = ({ id, tenantId, email, role }: Member, about: Partial<Session> = {}) =>
    sessionOf(tenantId, { personId: id, name: email, role, ...about });
  const hashOf = ({ id }: Session) => hashSecret(id);
  async function newLink(about: Partial<SignInLink> = {}): Promise<Buffer> {
    const hash = hashSecret(newId("request"));
    await store.insertLink(hash, { kind: "sign_in", expiresAtMs: AT_MS + HOUR_MS, ...about });
    return hash;
  }
  const openBy = (
    linkHash: Buffer,
    session: Session,
    more: { verifiesEmail?: boolean; used?: UsedCode } = {},
    on = store,
  ) => on.openSession(linkHash, session, hashOf(session), { verifiesEmail: false, ...more });
  /** Signs in by a link of its own. */
  async function open(session: Session): Promise<Session> {
    expect(await openBy(await newLink(), session)).to.equal(true);
    return session;
  }

  const factors = () => {
    const { client, db, audit } = database.parts();
    return createSecondFactorStore(client, db, audit, BOX);
  };
  /** Turns a person's second factor on, with the last code of step 5 and two recovery codes. */
  async function newFactor({ id, tenantId }: Member) {
    await factors().begin(id, Buffer.from("secret"));
    const begun = await factors().find(id);
    if (begun === undefined) throw new Error("there is no factor");
    const recoveryHashes = ["one", "two"].map(hashSecret);
    const enabled = { ...begun, enabledAtMs: AT_MS, lastStep: 5, recoveryHashes };
    expect(await factors().enable(tenantId, begun, enabled)).to.equal(true);
    return enabled;
  }

  describe("a link", () => {
    it("is found by its hash as it was stored, until it expires", async () => {
      const tenantId = newId("tenant");
      const expiresAtMs = AT_MS + HOUR_MS;
      const links: readonly SignInLink[] = [
        { kind: "sign_in", expiresAtMs, personId: newId("person") },
        { kind: "oidc", expiresAtMs, personId: newId("person") },
        { kind: "portal", expiresAtMs, tenantId, role: "finance", name: "accounts" },
      ];
      for (const link of links) {
        const hash = await newLink(link);
        expect(await other.findLink(hash)).to.deep.equal(link);
        const removalMs = await database.removalMs("sign_in_links", new Binary(hash));
        expect(removalMs).to.equal(expiresAtMs);
      }
      expect(await store.findLink(hashSecret("unknown"))).to.equal(undefined);
      // A portal link is a change by a caller; anybody may ask for a sign-in.
      expect(await database.auditOf(tenantId)).to.have.length(1);
      expect(await database.auditOf("")).to.deep.equal([]);
    });

    it("opens one session, of fifteen browsers that use it at once on two processes", async () => {
      const member = await newMemberOfOwn();
      const hash = await newLink();
      const wanted = Array.from({ length: 15 }, () => memberSession(member));
      const opened = await Promise.all(
        wanted.map((session, at) => openBy(hash, session, {}, at % 2 === 0 ? store : other)),
      );
      const [session, ...more] = wanted.filter((_, at) => opened[at]);
      expect(more).to.deep.equal([]);
      expect(await store.listSessions(member.id, 100)).to.deep.equal([session]);
      expect(await store.findLink(hash)).to.equal(undefined);
      expect(await openBy(hash, memberSession(member))).to.equal(false);
      const trails = await Promise.all(wanted.map(({ id }) => database.auditOf(id)));
      expect(trails.flat()).to.have.length(1);
    });

    it("is left when its session cannot be stored, and the session is not there without it", async () => {
      const member = await newMemberOfOwn();
      const taken = await open(memberSession(member));
      const hash = await newLink();
      expect(await codeOf(openBy(hash, taken))).to.equal("internal_error");
      expect(await store.findLink(hash)).not.to.equal(undefined);
      const unlinked = memberSession(member);
      expect(await openBy(hashSecret("unknown"), unlinked)).to.equal(false);
      expect(await store.findSession(unlinked.id)).to.equal(undefined);
    });
  });

  describe("a sign-in", () => {
    it("of a person marks the membership as joined, at the first time", async () => {
      const member = await newMemberOfOwn();
      for (const createdAtMs of [AT_MS + 1, AT_MS + 2]) {
        await open(memberSession(member, { createdAtMs }));
      }
      const joined = await people().membershipsOf(member.id);
      expect(joined).to.deep.equal([{ ...member, joinedAtMs: AT_MS + 1 }]);
    });

    it("verifies the tenant's address only when asked, and an older copy of the tenant is stale", async () => {
      const { id } = await newTenant({ isEmailVerified: false });
      const member = await newMember(id);
      await open(memberSession(member));
      const before = await tenants.findTenant(id);
      expect(before?.isEmailVerified).to.equal(false);
      for (const _ of [1, 2]) {
        await openBy(await newLink(), memberSession(member), { verifiesEmail: true });
      }
      const after = await tenants.findTenant(id);
      expect(after?.isEmailVerified).to.equal(true);
      if (before === undefined || after === undefined) throw new Error("there is no tenant");
      expect(await tenants.replaceTenant(before, { ...before, plan: "old" })).to.equal(false);
      // A second verification is no change.
      expect(await tenants.replaceTenant(after, { ...after, plan: "new" })).to.equal(true);
    });

    it("uses a code up with its link: of two sign-ins with one code one is refused and keeps its link", async () => {
      const member = await newMemberOfOwn();
      const enabled = await newFactor(member);
      const { recoveryHashes } = enabled;
      const codes: readonly UsedCode[] = [
        { step: 7 },
        { recoveryHash: recoveryHashes[0] as Buffer },
      ];
      for (const used of codes) {
        const links = [await newLink(), await newLink()];
        const wanted = links.map(() => memberSession(member));
        const results = await Promise.all(
          wanted.map((session, at) =>
            codeOf(openBy(links[at] as Buffer, session, { used }, at === 0 ? store : other)),
          ),
        );
        expect(results.toSorted()).to.deep.equal(["done", "validation_error"]);
        const refused = results.indexOf("validation_error");
        expect(await store.findLink(links[refused] as Buffer)).not.to.equal(undefined);
        expect(await store.findSession(wanted[refused]?.id ?? "")).to.equal(undefined);
      }
      // A code of an earlier step is of no use after a later one.
      const late = openBy(await newLink(), memberSession(member), { used: { step: 6 } });
      expect(await codeOf(late)).to.equal("validation_error");
      expect(await factors().find(member.id)).to.deep.equal({
        ...{ ...enabled, lastStep: 7, recoveryHashes: recoveryHashes.slice(1) },
      });
    });
  });

  it("opens no session without its audit entry, and then uses up neither link nor code", async () => {
    const { id } = await newTenant({ isEmailVerified: false });
    const member = await newMember(id);
    const factor = await newFactor(member);
    const [hash, session] = [await newLink(), memberSession(member)];
    const more = { verifiesEmail: true, used: { step: 7 } };
    const refused = await database.withoutAudit(session.id, () => openBy(hash, session, more));
    expect(refused).to.equal("internal_error");
    expect(await store.findSession(session.id)).to.equal(undefined);
    expect(await people().membershipsOf(member.id)).to.deep.equal([member]);
    expect((await tenants.findTenant(id))?.isEmailVerified).to.equal(false);
    expect(await factors().find(member.id)).to.deep.equal(factor);
    expect(await openBy(hash, session, more)).to.equal(true);
  });

  describe("a session", () => {
    it("is found by its id and by the hash of its secret as it was stored, in the order of the hashes", async () => {
      const member = await newMemberOfOwn();
      const [one, two] = [
        await open(memberSession(member)),
        await open(sessionOf(newId("tenant"), { name: "accounts", role: "finance" })),
      ];
      expect(await other.findSession(two.id)).to.deep.equal(two);
      expect(await store.findSession(newId("session"))).to.equal(undefined);
      const hashes = [hashOf(two), hashSecret("unknown"), hashOf(one), hashOf(two)];
      expect(await store.findSessions(hashes)).to.deep.equal([two, undefined, one, two]);
      expect(await store.findSessions([])).to.deep.equal([]);
      expect(await database.removalMs("sessions", one.id)).to.equal(AT_MS + SESSION_MS);
    });

    it("is listed with the person's others, newest first, up to a bound", async () => {
      const member = await newMemberOfOwn();
      const made: Session[] = [];
      for (let at = 0; at < 3; at += 1) made.push(await open(memberSession(member)));
      await open(memberSession(await newMember(member.tenantId)));
      expect(await store.listSessions(member.id, 10)).to.deep.equal(made.toReversed());
      expect(await store.listSessions(member.id, 2)).to.deep.equal(made.toReversed().slice(0, 2));
      expect(await store.listSessions(newId("person"), 10)).to.deep.equal([]);
    });

    it("is ended once, with the hash of its secret and one audit entry", async () => {
      const session = await open(memberSession(await newMemberOfOwn()));
      const end = () => store.endSession(session.id);
      expect(await database.withoutAudit(session.id, end)).to.equal("internal_error");
      expect(await store.findSession(session.id)).to.deep.equal(session);
      const ended = await Promise.all([store, other].map((on) => on.endSession(session.id)));
      expect(ended.filter((hash) => hash !== undefined)).to.deep.equal([hashOf(session)]);
      expect(await store.endSession(session.id)).to.equal(undefined);
      expect(await store.findSessions([hashOf(session)])).to.deep.equal([undefined]);
      expect(
        (await database.auditOf(session.id)).map(({ after }) => after === undefined),
      ).to.deep.equal([false, true]);
    });

    it("is replaced once, under another secret; one that has ended is not", async () => {
      const member = await newMemberOfOwn();
      const before = await open(memberSession(member));
      const wanted = [memberSession(member), memberSession(member)];
      const replaced = await Promise.all(
        wanted.map((after, at) => [store, other][at]?.replaceSession(before, after, hashOf(after))),
      );
      expect(replaced.filter((hash) => hash !== undefined)).to.deep.equal([hashOf(before)]);
      const after = wanted.filter((_, at) => replaced[at] !== undefined);
      expect(await store.listSessions(member.id, 10)).to.deep.equal(after);
      expect(await store.findSession(before.id)).to.equal(undefined);
      await store.endSession(after[0]?.id ?? "");
      const late = memberSession(member);
      const ended = await store.replaceSession(after[0] as Session, late, hashOf(late));
      expect(ended).to.equal(undefined);
      expect(await store.findSession(late.id)).to.equal(undefined);
    });

    it("is opened in no tenant of which its person is no member, and the one before stays", async () => {
      const member = await newMemberOfOwn();
      const before = await open(memberSession(member));
      const foreign = memberSession(member, { tenantId: (await newTenant()).id });
      expect(await store.replaceSession(before, foreign, hashOf(foreign))).to.equal(undefined);
      expect(await openBy(await newLink(), foreign)).to.equal(false);
      expect(await store.listSessions(member.id, 10)).to.deep.equal([before]);
    });

    it("keeps the latest of its uses, in each order of storing them", async () => {
      const member = await newMemberOfOwn();
      const [one, two] = [await open(memberSession(member)), await open(memberSession(member))];
      await store.touchSessions([one.id, two.id], AT_MS + 7);
      await store.touchSessions([one.id, newId("session")], AT_MS + 3);
      await store.touchSessions([two.id], AT_MS + 9);
      await store.touchSessions([], AT_MS + 11);
      const seen = async ({ id }: Session) => (await store.findSession(id))?.lastSeenAtMs;
      expect([await seen(one), await seen(two)]).to.deep.equal([AT_MS + 7, AT_MS + 9]);
    });
  });

  describe("the attempts of a key", () => {
    const attemptsAt = (nowMs: number, before?: Parameters<typeof countAttempt>[0]) => {
      const counted = countAttempt(before, nowMs);
      if ("waitMs" in counted) throw new Error(`it must wait ${counted.waitMs} ms`);
      return counted.after;
    };
    /** Stores the same step many times at once, on two processes; returns how often it was stored. */
    const storeAtOnce = async (
      key: string,
      ...step: [ReturnType<typeof attemptsAt> | undefined, ReturnType<typeof attemptsAt>]
    ) => {
      const stored = await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          (at % 2 === 0 ? store : other).storeAttempts(key, ...step),
        ),
      );
      return stored.filter(Boolean).length;
    };

    it("are counted by one of many calls that read the same count, also at the first and a forgotten one", async () => {
      const key = newId("request");
      const first = attemptsAt(AT_MS);
      expect(await storeAtOnce(key, undefined, first)).to.equal(1);
      expect(await store.findAttempts(key)).to.deep.equal(first);
      const second = attemptsAt(AT_MS, first);
      expect(await storeAtOnce(key, first, second)).to.equal(1);
      expect(await other.findAttempts(key)).to.deep.equal(second);

      // After an hour the count begins at 1 again, and 1 is the count that each of them has read.
      const single = newId("request");
      await store.storeAttempts(single, undefined, first);
      const again = attemptsAt(first.forgetAtMs, first);
      expect(again.count).to.equal(1);
      expect(await storeAtOnce(single, first, again)).to.equal(1);
      expect(await store.findAttempts(single)).to.deep.equal(again);
    });

    it("are forgotten on request and after their time; a call that read them earlier stores nothing", async () => {
      const key = newId("request");
      const first = attemptsAt(AT_MS);
      await store.storeAttempts(key, undefined, first);
      expect(await database.removalMs("sign_in_attempts", key)).to.equal(first.forgetAtMs);
      await store.forgetAttempts(key);
      await store.forgetAttempts(key);
      expect(await store.findAttempts(key)).to.equal(undefined);
      expect(await store.storeAttempts(key, first, attemptsAt(AT_MS, first))).to.equal(false);
      expect(await store.findAttempts(key)).to.equal(undefined);
      expect(await store.storeAttempts(key, undefined, first)).to.equal(true);
    });
  });
});
