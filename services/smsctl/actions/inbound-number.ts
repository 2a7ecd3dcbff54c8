import { InboundNumberSchema } from "../../../proto/gen/sms/v1/consent_pb.js";
import { tenantId, tenantIfGiven } from "../calls/tenants.ts";
import { createdWithin } from "../calls/time-range.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

export const add: Run = async (context) => {
  const { clients, options, output } = context;
  const { inboundNumber } = await clients.consent.createInboundNumber({
    number: options.word(0, "The number"),
    tenantId: await tenantId(context),
    keyword: options.optional("keyword") ?? "",
    sender: options.optional("sender") ?? "",
  });
  if (inboundNumber !== undefined) await output.result(toJson(InboundNumberSchema, inboundNumber));
  return 0;
};

export const list: Run = async (context) => {
  const isWanted = createdWithin(context.options);
  const asked = { tenantId: await tenantIfGiven(context) };
  const { inboundNumbers } = await context.clients.consent.listInboundNumbers(asked);
  await context.output.list(
    inboundNumbers.filter(isWanted).map((one) => toJson(InboundNumberSchema, one)),
    { columns: ["number", "keyword", "tenant_id", "sender", "created_at", "id"] },
  );
  return 0;
};

export const remove: Run = async (context) => {
  const { clients, options, output } = context;
  const id = options.word(0, "The inbound number");
  await clients.consent.removeInboundNumber({ tenantId: await tenantId(context), id });
  await output.result({ id, removed: true });
  return 0;
};
