import { AppError, type FieldError } from "../../shared/core/errors.ts";

/** A customer organisation. */
export type Tenant = {
  readonly id: string;
  readonly name: string;
  readonly isSuspended: boolean;
  readonly isEmailVerified: boolean;
  /** Sustained rate limit, in requests per second. */
  readonly rateLimit: number;
  /** Capacity of the token bucket, in requests. */
  readonly burst: number;
  /** Most recipients of one bulk request. */
  readonly bulkMax: number;
  /** ISO 4217 code of the wallet; never changes. */
  readonly currency: string;
  /** Name of the price plan. */
  readonly plan: string;
  readonly redactsBodies: boolean;
  /** Refuse messages that would have to wait for the end of quiet hours. */
  readonly rejectsInQuietHours: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
};

/** The fields that may change after creation. */
export type TenantChange = {
  readonly isSuspended?: boolean | undefined;
  readonly isEmailVerified?: boolean | undefined;
  readonly rateLimit?: number | undefined;
  readonly burst?: number | undefined;
  readonly bulkMax?: number | undefined;
  readonly plan?: string | undefined;
  readonly redactsBodies?: boolean | undefined;
  readonly rejectsInQuietHours?: boolean | undefined;
};

/** Input of a new tenant. Absent limits take their defaults (docs/contract.md#rate-limits). */
export type NewTenant = TenantChange & { readonly name: string; readonly currency?: string };

const DEFAULTS = { rateLimit: 50, burst: 100, bulkMax: 1000, currency: "NGN", plan: "default" };

/** Creates a tenant; throws `validation_error` that names every invalid field. */
export function createTenant(id: string, input: NewTenant, nowMs: number): Tenant {
  const rateLimit = input.rateLimit ?? DEFAULTS.rateLimit;
  const tenant: Tenant = {
    id,
    name: input.name,
    isSuspended: input.isSuspended ?? false,
    isEmailVerified: input.isEmailVerified ?? true,
    rateLimit,
    burst: input.burst ?? Math.max(DEFAULTS.burst, rateLimit),
    bulkMax: input.bulkMax ?? DEFAULTS.bulkMax,
    currency: input.currency ?? DEFAULTS.currency,
    plan: input.plan ?? DEFAULTS.plan,
    redactsBodies: input.redactsBodies ?? false,
    rejectsInQuietHours: input.rejectsInQuietHours ?? false,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  return validated(tenant);
}

/** Applies a change; throws `validation_error` that names every invalid field. */
export function changeTenant(tenant: Tenant, change: TenantChange, nowMs: number): Tenant {
  return validated({
    ...tenant,
    isSuspended: change.isSuspended ?? tenant.isSuspended,
    isEmailVerified: change.isEmailVerified ?? tenant.isEmailVerified,
    rateLimit: change.rateLimit ?? tenant.rateLimit,
    burst: change.burst ?? tenant.burst,
    bulkMax: change.bulkMax ?? tenant.bulkMax,
    plan: change.plan ?? tenant.plan,
    redactsBodies: change.redactsBodies ?? tenant.redactsBodies,
    rejectsInQuietHours: change.rejectsInQuietHours ?? tenant.rejectsInQuietHours,
    updatedAtMs: nowMs,
  });
}

function validated(tenant: Tenant): Tenant {
  const fields: FieldError[] = [];
  if (tenant.name.trim().length < 1 || tenant.name.length > 100) {
    fields.push(fieldError("name", "out_of_range", "A name has 1 to 100 characters."));
  }
  if (tenant.name.startsWith("ten_")) {
    fields.push(fieldError("name", "invalid_value", "A name may not look like a tenant's id."));
  }
  if (!/^[A-Z]{3}$/.test(tenant.currency)) {
    fields.push(fieldError("currency", "invalid_format", "A currency is an ISO 4217 code."));
  }
  if (!/^[a-z0-9-]{1,32}$/.test(tenant.plan)) {
    fields.push(fieldError("plan", "invalid_format", "A plan is 1 to 32 of a-z, 0-9 and -."));
  }
  checkRange(fields, "rate_limit", tenant.rateLimit, 1, 100_000);
  checkRange(fields, "burst", tenant.burst, 1, 1_000_000);
  checkRange(fields, "bulk_max", tenant.bulkMax, 1, 10_000);
  if (fields.length === 0) return tenant;
  throw new AppError("validation_error", "The tenant is not valid.", { fields });
}

function checkRange(
  fields: FieldError[],
  field: string,
  value: number,
  min: number,
  max: number,
): void {
  if (value >= min && value <= max) return;
  fields.push(fieldError(field, "out_of_range", `Must be a whole number from ${min} to ${max}.`));
}

function fieldError(field: string, code: string, message: string): FieldError {
  return { field, code, message };
}
