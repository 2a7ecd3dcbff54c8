import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type PersonSchema,
  Role as ProtoRole,
  type SessionSchema,
} from "../../../proto/gen/sms/v1/identity_pb.js";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { checkGiven, checkItems } from "../../shared/core/limits.ts";
import { readRole, WIRE_ROLE } from "../../shared/rpc/role.ts";
import type { Member } from "../app/identity-ports.ts";
import type { PeopleService } from "../app/people.ts";
import type { SessionService } from "../app/sessions.ts";
import { scopesOf } from "../domain/role-scopes.ts";
import type { Session } from "../domain/session.ts";
import { tenantToProto } from "./proto.ts";
import { CODE_CHARS_MAX } from "./sign-in-rpc.ts";

const LOOKUPS_MAX = 256;
const TOKEN_CHARS_MAX = 128;

/** The handlers for people and sessions: mapping between protobuf and the domain. */
export function identityHandlers(
  people: PeopleService,
  sessions: SessionService,
): Partial<ServiceImpl<typeof TenantService>> {
  return {
    requestSignIn: async ({ email, address }) => {
      await sessions.requestSignIn(email, address);
      return {};
    },
    createPortalLink: async ({ tenantId, role, displayName, lifetimeMs }) => {
      checkGiven("tenant_id", tenantId);
      const link = await sessions.createPortalLink({
        tenantId,
        role: role === ProtoRole.UNSPECIFIED ? "owner" : readRole(role),
        displayName,
        lifetimeMs: Number(lifetimeMs),
      });
      return { url: link.url, expiresAtMs: BigInt(link.expiresAtMs) };
    },
    openSession: async ({ token, address, userAgent, code }) => {
      const opened = await sessions.openSession(
        token.slice(0, TOKEN_CHARS_MAX),
        { address, userAgent },
        code.slice(0, CODE_CHARS_MAX),
      );
      if (opened === "code_needed") return { codeNeeded: true };
      return { session: sessionToProto(opened.session), secret: opened.secret };
    },
    authenticateSessions: async ({ secretSha256 }) => {
      checkItems("secret_sha256", secretSha256.length, 1, LOOKUPS_MAX);
      const found = await sessions.authenticate(secretSha256);
      return {
        answers: found.map((one) =>
          one === undefined
            ? {}
            : { session: sessionToProto(one.session), tenant: tenantToProto(one.tenant) },
        ),
      };
    },
    switchTenant: async ({ sessionId, tenantId }) => {
      const opened = await sessions.switchTenant(sessionId, tenantId);
      return { session: sessionToProto(opened.session), secret: opened.secret };
    },
    listMemberships: async ({ sessionId }) => ({
      memberships: (await sessions.listMemberships(sessionId)).map(
        ({ tenantId, tenantName, role }) => ({ tenantId, tenantName, role: WIRE_ROLE[role] }),
      ),
    }),
    listSessions: async ({ sessionId }) => ({
      sessions: (await sessions.listSessions(sessionId)).map(sessionToProto),
    }),
    endSession: async ({ sessionId, endedSessionId }) => {
      await sessions.endSession(sessionId, endedSessionId || sessionId);
      return {};
    },
    listPeople: async ({ tenantId }) => ({
      people: (await people.listPeople(tenantId)).map(personToProto),
    }),
    invitePerson: async ({ tenantId, email, role }) => ({
      person: personToProto(await people.invitePerson(tenantId, email, readRole(role))),
    }),
    changeRole: async ({ tenantId, personId, role }) => ({
      person: personToProto(await people.changeRole(tenantId, personId, readRole(role))),
    }),
    removePerson: async ({ tenantId, personId }) => {
      await people.removePerson(tenantId, personId);
      return {};
    },
  };
}

function personToProto(member: Member): MessageInitShape<typeof PersonSchema> {
  return {
    id: member.id,
    email: member.email,
    role: WIRE_ROLE[member.role],
    invitedAtMs: BigInt(member.invitedAtMs),
    joinedAtMs: BigInt(member.joinedAtMs ?? 0),
    secondFactor: member.hasSecondFactor ?? false,
  };
}

function sessionToProto(session: Session): MessageInitShape<typeof SessionSchema> {
  return {
    id: session.id,
    tenantId: session.tenantId,
    personId: session.personId ?? "",
    name: session.name,
    role: WIRE_ROLE[session.role],
    scopes: [...scopesOf(session.role)],
    createdAtMs: BigInt(session.createdAtMs),
    lastSeenAtMs: BigInt(session.lastSeenAtMs),
    expiresAtMs: BigInt(session.expiresAtMs),
    address: session.address,
    userAgent: session.userAgent,
  };
}
