import { ApiKeySchema } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { tenantId } from "../calls/tenants.ts";
import type { Commands } from "../cli/command.ts";
import { readMode } from "../cli/mode.ts";
import { toJson } from "../cli/to-json.ts";

/** `smsctl key …` */
export const KEY_COMMANDS: Commands = {
  create: {
    usage: "key create --tenant T [--scopes a,b --mode live|test --allow-ip CIDR,…]",
    async run(context) {
      const { clients, options, output } = context;
      const { key, secret } = await clients.tenants.createApiKey({
        tenantId: await tenantId(context),
        mode: readMode(options),
        scopes: options.list("scopes"),
        allowedNetworks: options.list("allow-ip"),
      });
      if (key === undefined) throw new AppError("internal_error", "The answer is empty.");
      output.result({ ...toJson(ApiKeySchema, key), secret });
      output.note("The secret is shown this once.");
      return 0;
    },
  },
  list: {
    usage: "key list --tenant T",
    async run(context) {
      const { keys } = await context.clients.tenants.listApiKeys({
        tenantId: await tenantId(context),
      });
      context.output.result(keys.map((key) => toJson(ApiKeySchema, key)));
      return 0;
    },
  },
  revoke: {
    usage: "key revoke KEY_ID | --key KEY_ID; --tenant T",
    async run(context) {
      const { clients, options, output } = context;
      const keyId = options.optionOrWord("key", "The key's id");
      const { key } = await clients.tenants.revokeApiKey({
        tenantId: await tenantId(context),
        keyId,
      });
      if (key !== undefined) output.result(toJson(ApiKeySchema, key));
      return 0;
    },
  },
};
