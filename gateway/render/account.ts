import type { Tenant } from "../../proto/gen/sms/v1/tenant_pb.js";
import type { Wallet } from "../../proto/gen/sms/v1/wallet_pb.js";
import { formatAmount } from "../../services/shared/core/money.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";

/** Renders the account; without a wallet its threshold is null. */
export function renderAccount(tenant: Tenant, wallet: Wallet | undefined) {
  return {
    id: tenant.id,
    object: "account",
    name: tenant.name,
    status: tenant.suspended ? "suspended" : "active",
    email_verified: tenant.emailVerified,
    currency: tenant.currency,
    low_balance_threshold: wallet === undefined ? null : formatAmount(wallet.lowBalanceThreshold),
    redact_bodies: tenant.redactBodies,
    quiet_hours: tenant.rejectsInQuietHours ? "reject" : "hold",
    requests_per_second: tenant.rateLimit,
    requests_burst: tenant.burst,
    bulk_recipients_max: tenant.bulkMax,
    created_at: formatInstant(Number(tenant.createdAtMs)),
    updated_at: formatInstant(Number(tenant.updatedAtMs)),
  };
}
