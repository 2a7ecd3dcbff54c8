import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import type { Tenant } from "../../proto/gen/sms/v1/tenant_pb.js";
import type { Role } from "../../services/shared/core/roles.ts";

/** The caller: an API key or a console session, with its tenant, as last confirmed by the tenant service. */
export type Caller = {
  /** The id of the API key, or of the session. */
  readonly keyId: string;
  readonly tenantId: string;
  readonly mode: Mode.LIVE | Mode.TEST;
  readonly scopes: ReadonlySet<string>;
  readonly allowsAddress: (address: string) => boolean;
  readonly isSuspended: boolean;
  readonly isEmailVerified: boolean;
  readonly rateLimit: number;
  readonly burst: number;
  readonly bulkMax: number;
  readonly currency: string;
  /** Present for a person in the console. */
  readonly session?: ConsoleSession;
};

/** A person's session. */
export type ConsoleSession = {
  readonly id: string;
  /** The e-mail address, or the name of the portal link. */
  readonly name: string;
  readonly role: Role;
  readonly tenantName: string;
  readonly expiresAtMs: number;
};

/** The properties that a caller has from its tenant. */
export function tenantLimits(tenant: Tenant) {
  return {
    isSuspended: tenant.suspended,
    isEmailVerified: tenant.emailVerified,
    rateLimit: tenant.rateLimit,
    burst: tenant.burst,
    bulkMax: tenant.bulkMax,
    currency: tenant.currency,
  };
}

/** The caller's name in audit trails. */
export function actorName({ keyId, session }: Caller): string {
  return session === undefined ? `api_key:${keyId}` : `console:${session.name}`;
}

/** Whether the caller has a test key. A person in the console's test mode may do all that the role allows. */
export function isTestKey({ mode, session }: Caller): boolean {
  return mode === Mode.TEST && session === undefined;
}
