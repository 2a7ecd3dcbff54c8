/** The account of the caller: read and change its own settings. */
import type { Client } from "@connectrpc/connect";
import type { Tenant, TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import type { Wallet, WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { AppError, type FieldError } from "../../services/shared/core/errors.ts";
import { parseAmount } from "../../services/shared/core/money.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { ACCOUNT_EXAMPLE } from "../docs/content/account-samples.ts";
import { dataOf, type OperationDoc } from "../docs/operation-doc.ts";
import { renderAccount } from "../render/account.ts";
import { ACCOUNT_CHANGE } from "../schemas/account.ts";
import { parseBody } from "../schemas/parse-body.ts";
import { queryFaults, refuseQuery } from "../schemas/query.ts";
import { compileSchema, refuse } from "../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";

export type AccountPorts = {
  readonly tenants: Client<typeof TenantService>;
  readonly wallets: Client<typeof WalletService>;
};

const PATH = "/v1/account";
const validate = compileSchema(ACCOUNT_CHANGE);

/** Creates the operations (`docs/contract.md#account`). */
export function accountOperations(ports: AccountPorts): Operation[] {
  return [
    {
      ...{ method: "GET", path: PATH, scope: "balance:read" },
      doc: { tag: "Account", ...READ },
      handle: (request) => read(ports, request),
    },
    {
      ...{ method: "PATCH", path: PATH, scope: "account:manage", isLiveOnly: true },
      doc: { tag: "Account", ...UPDATE },
      handle: (request) => update(ports, request),
    },
  ];
}

const RESPONSE = {
  status: 200,
  description: "The account.",
  schema: dataOf("Account"),
  example: { data: ACCOUNT_EXAMPLE },
} as const;

const READ: Omit<OperationDoc, "tag"> = {
  id: "getAccount",
  summary: "Read the account",
  description: "Its state, its limits and its settings.",
  response: RESPONSE,
  errors: ["validation_error"],
};

async function read(
  { tenants, wallets }: AccountPorts,
  { caller, query }: OperationRequest,
): Promise<OperationResponse> {
  refuseQuery(query);
  const { tenantId } = caller;
  const [found, wallet] = await Promise.all([
    rpcAnswer(tenants.getTenants({ ids: [tenantId] })),
    readWallet(wallets, tenantId),
  ]);
  return respond(found.tenants[0], wallet);
}

const UPDATE: Omit<OperationDoc, "tag"> = {
  id: "updateAccount",
  summary: "Change the account's settings",
  description:
    "Absent members stay as they are. The threshold needs a wallet. A repeat is harmless: after an error a part of " +
    "the change may have been made. A test key may not change them (403).",
  body: {
    name: "AccountChange",
    isRequired: true,
    example: { low_balance_threshold: "500.0000" },
  },
  response: RESPONSE,
  errors: ["conflict", "validation_error"],
};

type Change = {
  readonly low_balance_threshold?: string;
  readonly redact_bodies?: boolean;
  readonly quiet_hours?: "hold" | "reject";
};

async function update(
  { tenants, wallets }: AccountPorts,
  request: OperationRequest,
): Promise<OperationResponse> {
  const { tenantId } = request.caller;
  const parsed = parseBody(request.bodyBytes, validate);
  const change = (parsed.body ?? {}) as Change;
  const faults = [...queryFaults(request.query), ...parsed.faults];
  const threshold = parseAmount(change.low_balance_threshold ?? "0");
  if (parsed.faults.length === 0 && threshold === undefined) faults.push(TOO_LARGE);
  refuse(faults);
  let wallet = await readWallet(wallets, tenantId);
  const hasThreshold = change.low_balance_threshold !== undefined;
  // Before any change is made: otherwise only a part of the request would be applied.
  if (hasThreshold && wallet === undefined) refuse([NO_WALLET]);
  const { redact_bodies, quiet_hours } = change;
  const settings = {
    ...(redact_bodies === undefined ? {} : { redactBodies: redact_bodies }),
    ...(quiet_hours === undefined ? {} : { rejectsInQuietHours: quiet_hours === "reject" }),
  };
  const { tenant } = await rpcAnswer(tenants.updateAccount({ tenantId, ...settings }));
  if (hasThreshold) {
    const lowBalanceThreshold = threshold ?? 0n;
    const call = wallets.setLowBalanceThreshold({ tenantId, lowBalanceThreshold });
    wallet = (await rpcAnswer(call)).wallet;
  }
  return respond(tenant, wallet);
}

const TOO_LARGE: FieldError = {
  field: "low_balance_threshold",
  code: "out_of_range",
  message: "The amount is too large.",
};

const NO_WALLET: FieldError = {
  field: "low_balance_threshold",
  code: "invalid_value",
  message: "The account has no wallet yet.",
};

async function readWallet(
  wallets: AccountPorts["wallets"],
  tenantId: string,
): Promise<Wallet | undefined> {
  try {
    return (await rpcAnswer(wallets.getWallet({ tenantId }))).wallet;
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  }
}

function respond(tenant: Tenant | undefined, wallet: Wallet | undefined): OperationResponse {
  if (tenant === undefined) throw new AppError("not_found", "There is no such account.");
  return { status: 200, body: { data: renderAccount(tenant, wallet) } };
}
