import { InboundMessageSchema } from "../../../proto/gen/sms/v1/consent_pb.js";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { tenantIfGiven } from "../calls/tenants.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** The largest page of inbound messages. */
const MESSAGES_MAX = 100;

export const list: Run = async (context) => {
  const { clients, options, output } = context;
  const { sinceMs = 0, untilMs = 0 } = options.range("since", "until");
  const wanted = {
    tenantId: await tenantIfGiven(context),
    from: options.optional("from") ?? "",
    to: options.optional("to") ?? "",
    receivedAfterMs: BigInt(sinceMs),
    receivedBeforeMs: BigInt(untilMs),
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
  await output.list(
    items.map((message) => toJson(InboundMessageSchema, message)),
    {
      columns: ["id", "from", "to", "received_at", "action", "body…"],
      wide: ["tenant_id", "connector_id", "encoding", "parts", "parts_received"],
    },
  );
  if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
  return 0;
};

export const show: Run = async (context) => {
  const { clients, options, output } = context;
  const id = options.word(0, "The inbound message");
  const asked = { tenantId: await tenantIfGiven(context), id };
  const { message } = await clients.consent.getInboundMessage(asked);
  if (message !== undefined) await output.result(toJson(InboundMessageSchema, message));
  return 0;
};
