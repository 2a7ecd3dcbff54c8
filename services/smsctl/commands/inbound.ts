import { InboundMessageSchema } from "../../../proto/gen/sms/v1/consent_pb.js";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { tenantIfGiven } from "../calls/tenants.ts";
import type { Commands } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** The largest page of inbound messages. */
const MESSAGES_MAX = 100;

/** `smsctl inbound …`: messages from handsets. */
export const INBOUND_COMMANDS: Commands = {
  list: {
    usage: "inbound list [--tenant T --from N --to N --limit N --cursor C]",
    async run(context) {
      const { clients, options, output } = context;
      const wanted = {
        tenantId: await tenantIfGiven(context),
        from: options.optional("from") ?? "",
        to: options.optional("to") ?? "",
      };
      const { items, nextCursor } = await readUpToLimit(
        options,
        50,
        async ({ limit, cursor }) => {
          const asked = { ...wanted, limit, beforeId: cursor };
          const { messages, hasMore } = await clients.consent.listInboundMessages(asked);
          return { items: messages, nextCursor: cursorAfter(messages, hasMore) };
        },
        MESSAGES_MAX,
      );
      output.result(items.map((message) => toJson(InboundMessageSchema, message)));
      if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
      return 0;
    },
  },
  show: {
    usage: "inbound show INBOUND_ID [--tenant T]",
    async run(context) {
      const { clients, options, output } = context;
      const id = options.word(2, "The inbound message");
      const asked = { tenantId: await tenantIfGiven(context), id };
      const { message } = await clients.consent.getInboundMessage(asked);
      if (message !== undefined) output.result(toJson(InboundMessageSchema, message));
      return 0;
    },
  },
};
