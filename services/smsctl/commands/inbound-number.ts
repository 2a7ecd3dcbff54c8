import { InboundNumberSchema } from "../../../proto/gen/sms/v1/consent_pb.js";
import { tenantId, tenantIfGiven } from "../calls/tenants.ts";
import type { Commands } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** `smsctl inbound-number …`: the numbers that handsets send to, and the tenants that own them. */
export const INBOUND_NUMBER_COMMANDS: Commands = {
  add: {
    usage: "inbound-number add NUMBER --tenant T [--keyword W --sender S]",
    async run(context) {
      const { clients, options, output } = context;
      const { inboundNumber } = await clients.consent.createInboundNumber({
        number: options.word(2, "The number"),
        tenantId: await tenantId(context),
        keyword: options.optional("keyword") ?? "",
        sender: options.optional("sender") ?? "",
      });
      if (inboundNumber !== undefined) output.result(toJson(InboundNumberSchema, inboundNumber));
      return 0;
    },
  },
  list: {
    usage: "inbound-number list [--tenant T]",
    async run(context) {
      const asked = { tenantId: await tenantIfGiven(context) };
      const { inboundNumbers } = await context.clients.consent.listInboundNumbers(asked);
      context.output.result(inboundNumbers.map((one) => toJson(InboundNumberSchema, one)));
      return 0;
    },
  },
  remove: {
    usage: "inbound-number remove INBOUND_NUMBER_ID --tenant T",
    async run(context) {
      const { clients, options, output } = context;
      const id = options.word(2, "The inbound number");
      await clients.consent.removeInboundNumber({ tenantId: await tenantId(context), id });
      output.result({ id, removed: true });
      return 0;
    },
  },
};
