import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { invalidField } from "../../shared/core/limits.ts";
import type { Role } from "../../shared/core/roles.ts";
import { hashSecret } from "../domain/api-key.ts";
import { canonicalEmail } from "../domain/email.ts";
import { invitationMail } from "../domain/mails.ts";
import { newSecretText } from "../domain/secrets.ts";
import { LINK_MS } from "../domain/sign-in-link.ts";
import type {
  Mailer,
  Member,
  PeopleStore,
  SecondFactorStore,
  SessionInvalidation,
} from "./identity-ports.ts";
import type { TenantService } from "./tenants.ts";

const PEOPLE_MAX = 1000;

/** The use cases of a tenant's people. */
export type PeopleService = ReturnType<typeof createPeopleService>;

export function createPeopleService(parts: {
  readonly store: PeopleStore;
  readonly factors: Pick<SecondFactorStore, "findEnabled">;
  readonly tenants: Pick<TenantService, "getTenant">;
  readonly mailer: Mailer;
  readonly invalidation: SessionInvalidation;
  readonly linkUrl: (token: string) => string;
  readonly clock: Clock;
}) {
  const { store, factors, tenants, mailer, invalidation, linkUrl, clock } = parts;

  return {
    /** Errors: `not_found`. */
    async listPeople(tenantId: string): Promise<readonly Member[]> {
      const tenant = await tenants.getTenant(tenantId);
      const members = await store.listMembers(tenant.id);
      const enabled = await factors.findEnabled(members.map(({ id }) => id));
      return members.map((one) => ({ ...one, hasSecondFactor: enabled.has(one.id) }));
    },

    /**
     * Invites a person. The mail leaves after the invitation is stored; when the process dies between, a repeat sends
     * another. Errors: `not_found`, `validation_error`, `already_exists`, `service_unavailable`.
     */
    async invitePerson(tenantId: string, emailText: string, role: Role): Promise<Member> {
      const email = canonicalEmail(emailText);
      const tenant = await tenants.getTenant(tenantId);
      const nowMs = clock.now();
      const id = newId("person");
      const token = newSecretText("inv");
      const link = {
        kind: "invitation",
        expiresAtMs: nowMs + LINK_MS.invitation,
        personId: id,
        tenantId: tenant.id,
      } as const;
      const invited = { id, tenantId: tenant.id, email, role, invitedAtMs: nowMs };
      const done = await store.invite(invited, { hash: hashSecret(token), link }, PEOPLE_MAX);
      if (done === "member") {
        throw new AppError("already_exists", "This person is in the account already.");
      }
      if (done === "too_many") {
        throw invalidField("email", "too_many", `the account has ${PEOPLE_MAX} people already`);
      }
      mailer.send(invitationMail(email, tenant.name, linkUrl(token)));
      return done.member;
    },

    /** Errors: `not_found`, `invalid_state_transition` for the last owner. */
    async changeRole(tenantId: string, personId: string, role: Role): Promise<Member> {
      const done = await store.changeRole(tenantId, personId, role);
      if (typeof done === "string") throw refusal(done);
      return done.member;
    },

    /** Errors: `not_found`, `invalid_state_transition` for the last owner. */
    async removePerson(tenantId: string, personId: string): Promise<void> {
      const done = await store.removeMember(tenantId, personId);
      if (typeof done === "string") throw refusal(done);
      // A message that is lost leaves a cached session for at most five seconds.
      for (const hash of done.hashes) invalidation.sessionEnded(hash);
    },
  };
}

function refusal(reason: "not_found" | "last_owner"): AppError {
  return reason === "not_found"
    ? new AppError("not_found", "There is no such person in the account.")
    : new AppError(
        "invalid_state_transition",
        "The account's last owner keeps this role; make another person an owner first.",
      );
}
