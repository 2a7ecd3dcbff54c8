import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { invalidField } from "../../shared/core/limits.ts";
import {
  newFactorSecret,
  newRecoveryCodes,
  readCode,
  recoveryHash,
  type SecondFactor,
  type UsedCode,
} from "../domain/second-factor.ts";
import { checkOpen } from "../domain/session.ts";
import { otpauthUri, toBase32 } from "../domain/totp.ts";
import type { PeopleStore, SecondFactorStore, SessionStore } from "./identity-ports.ts";
import { limitAttempts } from "./limit-attempts.ts";

const TOO_MANY = "Too many codes were tried; wait a little.";

/** The use cases of the second factor. A person has one factor for all tenants. */
export type SecondFactorService = ReturnType<typeof createSecondFactorService>;

export function createSecondFactorService(parts: {
  readonly store: SecondFactorStore;
  readonly sessions: Pick<
    SessionStore,
    "findSession" | "findAttempts" | "storeAttempts" | "forgetAttempts"
  >;
  readonly people: Pick<PeopleStore, "membershipsOf">;
  /** The name that an authenticator shows above the code. */
  readonly issuer: string;
  readonly clock: Clock;
}) {
  const { store, sessions, people, issuer, clock } = parts;

  async function findOpen(sessionId: string) {
    return checkOpen(await sessions.findSession(sessionId), clock.now());
  }

  /** Throws for a session of a portal link, which belongs to no person. */
  async function personOf(sessionId: string) {
    const { personId, tenantId, name } = await findOpen(sessionId);
    if (personId !== undefined) return { personId, tenantId, email: name };
    throw new AppError(
      "invalid_state_transition",
      "A session of a portal link has no second factor: it belongs to no person.",
    );
  }

  /** Tries a code. Errors: `rate_limited` after several, `validation_error` for a wrong or used code. */
  async function tryCode(factor: SecondFactor, code: string): Promise<UsedCode> {
    const key = attemptsKey(factor.personId);
    await limitAttempts({ store: sessions, clock }, [key], TOO_MANY);
    const used = readCode(factor, code, clock.now());
    if (used === undefined) throw wrongCode();
    await sessions.forgetAttempts(key);
    return used;
  }

  return {
    /**
     * The code that a sign-in uses up; undefined for a person without a factor. "needed": a code must be given.
     * Errors: those of `tryCode`.
     */
    async checkSignIn(personId: string, code: string): Promise<UsedCode | "needed" | undefined> {
      const factor = await store.find(personId);
      if (factor?.enabledAtMs === undefined) return undefined;
      return code === "" ? "needed" : tryCode(factor, code);
    },

    async get(sessionId: string) {
      const { personId } = await findOpen(sessionId);
      const factor = personId === undefined ? undefined : await store.find(personId);
      const isEnabled = factor?.enabledAtMs !== undefined;
      return {
        isAvailable: personId !== undefined,
        isEnabled,
        enabledAtMs: factor?.enabledAtMs ?? 0,
        recoveryCodesLeft: isEnabled ? factor.recoveryHashes.length : 0,
      };
    },

    /** Errors: `invalid_state_transition` when the factor is on. */
    async begin(sessionId: string) {
      const { personId, email } = await personOf(sessionId);
      const secret = newFactorSecret();
      if (!(await store.begin(personId, secret))) throw isOnAlready();
      return { secret: toBase32(secret), uri: otpauthUri(secret, issuer, email) };
    },

    /** Returns the recovery codes. Errors: those of `tryCode`, `invalid_state_transition`. */
    async enable(sessionId: string, code: string): Promise<readonly string[]> {
      const { personId, tenantId } = await personOf(sessionId);
      const factor = await store.find(personId);
      if (factor?.enabledAtMs !== undefined) throw isOnAlready();
      if (factor === undefined) {
        throw new AppError("invalid_state_transition", "Ask for a secret first.");
      }
      const used = await tryCode(factor, code);
      if (!("step" in used)) throw wrongCode();
      const codes = newRecoveryCodes();
      const enabled: SecondFactor = {
        ...factor,
        enabledAtMs: clock.now(),
        lastStep: used.step,
        recoveryHashes: codes.map(recoveryHash),
      };
      if (!(await store.enable(tenantId, factor, enabled))) throw isOnAlready();
      return codes;
    },

    /** Errors: those of `tryCode`, `invalid_state_transition` when it is off. */
    async disable(sessionId: string, code: string): Promise<void> {
      const { personId, tenantId } = await personOf(sessionId);
      const factor = await store.find(personId);
      if (factor?.enabledAtMs === undefined) throw isOff();
      await tryCode(factor, code);
      await store.remove(tenantId, personId);
    },

    /**
     * Turns off the factor of a tenant's person, who has no code to give. Errors: `not_found`, and
     * `invalid_state_transition` when it is off, or when other tenants would lose its protection.
     */
    async reset(tenantId: string, personId: string, isInAllTenants: boolean): Promise<void> {
      const memberships = await people.membershipsOf(personId);
      if (!memberships.some((one) => one.tenantId === tenantId)) {
        throw new AppError("not_found", "There is no such person in the account.");
      }
      const hasOthers = memberships.some(
        (one) => one.tenantId !== tenantId && one.joinedAtMs !== undefined,
      );
      if (hasOthers && !isInAllTenants) {
        throw new AppError(
          "invalid_state_transition",
          "The person belongs to other accounts too. Ask your provider to reset the second factor.",
        );
      }
      if (!(await store.remove(tenantId, personId))) throw isOff();
      await sessions.forgetAttempts(attemptsKey(personId));
    },
  };
}

function attemptsKey(personId: string): string {
  return `factor:${personId}`;
}

function wrongCode(): AppError {
  return invalidField("code", "invalid_value", "is not the present code, or was used before");
}

function isOnAlready(): AppError {
  return new AppError("invalid_state_transition", "The second factor is on already.");
}

function isOff(): AppError {
  return new AppError("invalid_state_transition", "The second factor is off.");
}
