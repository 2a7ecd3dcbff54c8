import { SuppressionSchema } from "../../../proto/gen/sms/v1/consent_pb.js";
import { readUpToLimit } from "../calls/pages.ts";
import { tenantId } from "../calls/tenants.ts";
import { createdWithin } from "../calls/time-range.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

export const list: Run = async (context) => {
  const { clients, options, output } = context;
  const isWanted = createdWithin(options);
  const wanted = {
    tenantId: await tenantId(context),
    number: options.optional("number") ?? "",
  };
  const { items, nextCursor } = await readUpToLimit(options, 50, async ({ limit, cursor }) => {
    const asked = { ...wanted, limit, after: cursor };
    const { suppressions, next } = await clients.consent.listSuppressions(asked);
    return { items: suppressions.filter(isWanted), nextCursor: next };
  });
  await output.list(
    items.map((one) => toJson(SuppressionSchema, one)),
    {
      columns: ["number", "sender", "source", "created_at", "reason…"],
      wide: ["tenant_id"],
    },
  );
  if (nextCursor !== "") output.more(`more: --cursor ${nextCursor}`);
  return 0;
};

export const add: Run = async (context) => {
  const { clients, options, output } = context;
  const suppression = {
    number: options.word(0, "The number"),
    sender: options.optional("sender") ?? "",
    reason: options.optional("reason") ?? "",
  };
  const { added, unchanged, faults } = await clients.consent.addSuppressions({
    tenantId: await tenantId(context),
    suppressions: [suppression],
    source: "operator",
  });
  await output.result({ added, unchanged, faults: faults.map(({ message }) => message) });
  return faults.length === 0 ? 0 : 1;
};

export const remove: Run = async (context) => {
  const { clients, options, output } = context;
  const number = options.word(0, "The number");
  const sender = options.optional("sender") ?? "";
  await clients.consent.removeSuppression({
    tenantId: await tenantId(context),
    number,
    sender,
  });
  await output.result({ number, sender, removed: true });
  return 0;
};
