import { KeywordsSchema } from "../../../proto/gen/sms/v1/consent_pb.js";
import { tenantId } from "../calls/tenants.ts";
import type { Commands } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** `smsctl keyword …`: a tenant's own words and replies, in addition to the common words. */
export const KEYWORD_COMMANDS: Commands = {
  show: {
    usage: "keyword show --tenant T",
    async run(context) {
      const asked = { tenantId: await tenantId(context) };
      const { keywords } = await context.clients.consent.getKeywords(asked);
      if (keywords !== undefined) context.output.result(toJson(KeywordsSchema, keywords));
      return 0;
    },
  },
  set: {
    usage:
      "keyword set --tenant T [--opt-out W,… --opt-in W,… --help-words W,…] " +
      "[--opt-out-reply R --opt-in-reply R --help-reply R]",
    async run(context) {
      const { clients, options, output } = context;
      const { keywords } = await clients.consent.setKeywords({
        tenantId: await tenantId(context),
        keywords: {
          optOut: options.list("opt-out"),
          optIn: options.list("opt-in"),
          help: options.list("help-words"),
          optOutReply: options.optional("opt-out-reply") ?? "",
          optInReply: options.optional("opt-in-reply") ?? "",
          helpReply: options.optional("help-reply") ?? "",
        },
      });
      if (keywords !== undefined) output.result(toJson(KeywordsSchema, keywords));
      return 0;
    },
  },
};
