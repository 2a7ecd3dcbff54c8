import { KeywordsSchema } from "../../../proto/gen/sms/v1/consent_pb.js";
import { tenantId } from "../calls/tenants.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

export const show: Run = async (context) => {
  const asked = { tenantId: await tenantId(context) };
  const { keywords } = await context.clients.consent.getKeywords(asked);
  if (keywords !== undefined) await context.output.result(toJson(KeywordsSchema, keywords));
  return 0;
};

export const set: Run = async (context) => {
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
  if (keywords !== undefined) await output.result(toJson(KeywordsSchema, keywords));
  return 0;
};
