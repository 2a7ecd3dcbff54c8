import type { ClientSession, Db, MongoClient } from "mongodb";
import type { Role } from "../../shared/core/roles.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo } from "../../shared/io/mongo-errors.ts";
import type { Member, PeopleStore } from "../app/identity-ports.ts";
import { type LinkDocument, linkDocument, type SessionDocument } from "./session-documents.ts";

/** A person: one e-mail address. */
type PersonDocument = { _id: string; email: string; created_at: Date };

/** A person's place in a tenant. */
export type MembershipDocument = {
  /** `<tenant> <person>` */
  _id: string;
  tenant_id: string;
  person_id: string;
  email: string;
  role: Role;
  invited_at: Date;
  joined_at?: Date;
  /** Increases with each session, so that opening a session conflicts with removing the member. */
  sessions_opened?: number;
};

/** The id of a membership. */
export function membershipId(tenantId: string, personId: string): string {
  return `${tenantId} ${personId}`;
}

/** The MongoDB adapter of the storage of people. */
export function createPeopleStore(client: MongoClient, db: Db, audit: AuditLog): PeopleStore {
  const people = db.collection<PersonDocument>("people");
  const memberships = db.collection<MembershipDocument>("memberships");
  const links = db.collection<LinkDocument>("sign_in_links");
  const sessions = db.collection<SessionDocument>("sessions");
  const tenants = db.collection<{ _id: string; people_version?: number }>("tenants");

  /**
   * Makes changes of one tenant's people conflict, so that two owners who remove each other at the same moment do not
   * both succeed: the second transaction runs again and finds the first one's result.
   */
  async function lockPeople(tenantId: string, session: ClientSession): Promise<void> {
    await tenants.updateOne({ _id: tenantId }, { $inc: { people_version: 1 } }, { session });
  }

  async function isLastOwner(member: MembershipDocument, session: ClientSession): Promise<boolean> {
    if (member.role !== "owner") return false;
    const others = {
      tenant_id: member.tenant_id,
      role: "owner",
      _id: { $ne: member._id },
    } as const;
    return (await memberships.findOne(others, { session })) === null;
  }

  return {
    invite: (invited, { hash, link }, max) =>
      runTransaction(client, async (session) => {
        await lockPeople(invited.tenantId, session);
        const { email, tenantId } = invited;
        const known = await people.findOne({ email }, { session });
        const id = known?._id ?? invited.id;
        if (known === null) {
          const person = { _id: id, email, created_at: new Date(invited.invitedAtMs) };
          await people.insertOne(person, { session });
        }
        const before = await memberships.findOne({ _id: membershipId(tenantId, id) }, { session });
        if (before?.joined_at !== undefined) return "member";
        if (before === null) {
          const count = await memberships.countDocuments(
            { tenant_id: tenantId },
            { session, limit: max },
          );
          if (count >= max) return "too_many";
        }
        const member: Member = { ...invited, id };
        await memberships.replaceOne({ _id: membershipId(tenantId, id) }, fromMember(member), {
          upsert: true,
          session,
        });
        await links.insertOne(linkDocument(hash, { ...link, personId: id }), { session });
        await audit.write(
          {
            tenantId,
            subject: id,
            before: before === null ? undefined : toMember(before),
            after: member,
          },
          session,
        );
        return { member };
      }),

    async listMembers(tenantId) {
      const found = memberships.find({ tenant_id: tenantId }).sort({ email: 1 }).limit(1000);
      return (await guardMongo(found.toArray())).map(toMember);
    },

    changeRole: (tenantId, personId, role) =>
      runTransaction(client, async (session) => {
        await lockPeople(tenantId, session);
        const own = { _id: membershipId(tenantId, personId) };
        const before = await memberships.findOne(own, { session });
        if (before === null) return "not_found";
        if (before.role === role) return { member: toMember(before) };
        if (await isLastOwner(before, session)) return "last_owner";
        await memberships.updateOne(own, { $set: { role } }, { session });
        const member = { ...toMember(before), role };
        await audit.write(
          { tenantId, subject: personId, before: toMember(before), after: member },
          session,
        );
        return { member };
      }),

    removeMember: (tenantId, personId) =>
      runTransaction(client, async (session) => {
        await lockPeople(tenantId, session);
        const own = { _id: membershipId(tenantId, personId) };
        const before = await memberships.findOne(own, { session });
        if (before === null) return "not_found";
        if (await isLastOwner(before, session)) return "last_owner";
        await memberships.deleteOne(own, { session });
        const theirs = { person_id: personId, tenant_id: tenantId };
        const ended = await sessions.find(theirs, { session, projection: { hash: 1 } }).toArray();
        await sessions.deleteMany(theirs, { session });
        // An invitation that waits in a mailbox must not let the person in again.
        await links.deleteMany(theirs, { session });
        await audit.write(
          { tenantId, subject: personId, before: toMember(before), after: undefined },
          session,
        );
        return { hashes: ended.map(({ hash }) => Buffer.from(hash.buffer)) };
      }),

    async findPersonByEmail(email) {
      const person = await guardMongo(people.findOne({ email }));
      if (person === null) return undefined;
      const member = await guardMongo(memberships.findOne({ person_id: person._id }));
      return member === null ? undefined : person._id;
    },

    async membershipsOf(personId) {
      const found = memberships.find({ person_id: personId }).sort({ invited_at: 1 }).limit(1000);
      return (await guardMongo(found.toArray())).map(toMember);
    },

    async findMembers(pairs) {
      if (pairs.length === 0) return [];
      const _id = { $in: pairs.map(({ tenantId, personId }) => membershipId(tenantId, personId)) };
      return (await guardMongo(memberships.find({ _id }).toArray())).map(toMember);
    },
  };
}

function fromMember(member: Member): MembershipDocument {
  return {
    _id: membershipId(member.tenantId, member.id),
    tenant_id: member.tenantId,
    person_id: member.id,
    email: member.email,
    role: member.role,
    invited_at: new Date(member.invitedAtMs),
    ...(member.joinedAtMs === undefined ? {} : { joined_at: new Date(member.joinedAtMs) }),
  };
}

function toMember(document: MembershipDocument): Member {
  return {
    id: document.person_id,
    tenantId: document.tenant_id,
    email: document.email,
    role: document.role,
    invitedAtMs: document.invited_at.getTime(),
    ...(document.joined_at === undefined ? {} : { joinedAtMs: document.joined_at.getTime() }),
  };
}
