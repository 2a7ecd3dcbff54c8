import { ApiKeySchema } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { tenantId } from "../calls/tenants.ts";
import { createdWithin } from "../calls/time-range.ts";
import type { Run } from "../cli/command.ts";
import { readMode } from "../cli/mode.ts";
import { toJson } from "../cli/to-json.ts";

export const create: Run = async (context) => {
  const { clients, options, output } = context;
  const { key, secret } = await clients.tenants.createApiKey({
    tenantId: await tenantId(context),
    mode: readMode(options),
    scopes: options.list("scopes"),
    allowedNetworks: options.list("allow-ip"),
  });
  if (key === undefined) throw new AppError("internal_error", "The answer is empty.");
  await output.result({ ...toJson(ApiKeySchema, key), secret });
  output.note("The secret is shown this once.");
  return 0;
};

export const list: Run = async (context) => {
  const isWanted = createdWithin(context.options);
  const { keys } = await context.clients.tenants.listApiKeys({
    tenantId: await tenantId(context),
  });
  await context.output.list(
    keys.filter(isWanted).map((key) => toJson(ApiKeySchema, key)),
    {
      columns: ["id", "mode", "created_at", "revoked_at", "allowed_networks…", "scopes…"],
      wide: ["tenant_id"],
    },
  );
  return 0;
};

export const revoke: Run = async (context) => {
  const { clients, options, output } = context;
  const keyId = options.optionOrWord("key", "The key's id");
  const { key } = await clients.tenants.revokeApiKey({
    tenantId: await tenantId(context),
    keyId,
  });
  if (key !== undefined) await output.result(toJson(ApiKeySchema, key));
  return 0;
};
