import { Binary } from "mongodb";
import type { Role } from "../../shared/core/roles.ts";
import type { Browser, Session, SessionTimes } from "../domain/session.ts";
import type { SignInLink } from "../domain/sign-in-link.ts";

/** A document of `sign_in_links`; it is removed when the link is used, or expires. */
export type LinkDocument = {
  /** SHA-256 of the token. */
  _id: Binary;
  kind: SignInLink["kind"];
  expires_at: Date;
  person_id?: string;
  tenant_id?: string;
  role?: Role;
  name?: string;
};

/** The fields that sessions of people and of operators have in common. */
export type OpenedDocument = {
  _id: string;
  /** SHA-256 of the secret. */
  hash: Binary;
  created_at: Date;
  last_seen_at: Date;
  expires_at: Date;
  address: string;
  user_agent: string;
};

/** A document of `sessions`; it is removed when the session ends. */
export type SessionDocument = OpenedDocument & {
  tenant_id: string;
  person_id?: string;
  name: string;
  role: Role;
};

type Opened = SessionTimes & Browser & { readonly id: string };

export function openedDocument(session: Opened, secretHash: Buffer): OpenedDocument {
  return {
    _id: session.id,
    hash: new Binary(secretHash),
    created_at: new Date(session.createdAtMs),
    last_seen_at: new Date(session.lastSeenAtMs),
    expires_at: new Date(session.expiresAtMs),
    address: session.address,
    user_agent: session.userAgent,
  };
}

export function toOpened(document: OpenedDocument): Opened {
  return {
    id: document._id,
    createdAtMs: document.created_at.getTime(),
    lastSeenAtMs: document.last_seen_at.getTime(),
    expiresAtMs: document.expires_at.getTime(),
    address: document.address,
    userAgent: document.user_agent,
  };
}

export function linkDocument(hash: Buffer, link: SignInLink): LinkDocument {
  return {
    _id: new Binary(hash),
    kind: link.kind,
    expires_at: new Date(link.expiresAtMs),
    ...(link.personId === undefined ? {} : { person_id: link.personId }),
    ...(link.tenantId === undefined ? {} : { tenant_id: link.tenantId }),
    ...(link.role === undefined ? {} : { role: link.role }),
    ...(link.name === undefined ? {} : { name: link.name }),
  };
}

export function toLink(document: LinkDocument): SignInLink {
  return {
    kind: document.kind,
    expiresAtMs: document.expires_at.getTime(),
    ...(document.person_id === undefined ? {} : { personId: document.person_id }),
    ...(document.tenant_id === undefined ? {} : { tenantId: document.tenant_id }),
    ...(document.role === undefined ? {} : { role: document.role }),
    ...(document.name === undefined ? {} : { name: document.name }),
  };
}

export function sessionDocument(session: Session, secretHash: Buffer): SessionDocument {
  return {
    ...openedDocument(session, secretHash),
    tenant_id: session.tenantId,
    ...(session.personId === undefined ? {} : { person_id: session.personId }),
    name: session.name,
    role: session.role,
  };
}

export function toSession(document: SessionDocument): Session {
  return {
    ...toOpened(document),
    tenantId: document.tenant_id,
    ...(document.person_id === undefined ? {} : { personId: document.person_id }),
    name: document.name,
    role: document.role,
  };
}
