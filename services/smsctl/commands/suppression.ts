import { SuppressionSchema } from "../../../proto/gen/sms/v1/consent_pb.js";
import { readUpToLimit } from "../calls/pages.ts";
import { tenantId } from "../calls/tenants.ts";
import type { Commands } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** `smsctl suppression …`: numbers that a tenant must not send to. */
export const SUPPRESSION_COMMANDS: Commands = {
  list: {
    usage: "suppression list --tenant T [--number N --limit N --cursor C]",
    async run(context) {
      const { clients, options, output } = context;
      const wanted = {
        tenantId: await tenantId(context),
        number: options.optional("number") ?? "",
      };
      const { items, nextCursor } = await readUpToLimit(options, 50, async ({ limit, cursor }) => {
        const asked = { ...wanted, limit, after: cursor };
        const { suppressions, next } = await clients.consent.listSuppressions(asked);
        return { items: suppressions, nextCursor: next };
      });
      output.result(items.map((one) => toJson(SuppressionSchema, one)));
      if (nextCursor !== "") output.more(`more: --cursor ${nextCursor}`);
      return 0;
    },
  },
  add: {
    usage: "suppression add NUMBER --tenant T [--sender S --reason R]",
    async run(context) {
      const { clients, options, output } = context;
      const suppression = {
        number: options.word(2, "The number"),
        sender: options.optional("sender") ?? "",
        reason: options.optional("reason") ?? "",
      };
      const { added, unchanged, faults } = await clients.consent.addSuppressions({
        tenantId: await tenantId(context),
        suppressions: [suppression],
        source: "operator",
      });
      output.result({ added, unchanged, faults: faults.map(({ message }) => message) });
      return faults.length === 0 ? 0 : 1;
    },
  },
  remove: {
    usage: "suppression remove NUMBER --tenant T [--sender S]",
    async run(context) {
      const { clients, options, output } = context;
      const number = options.word(2, "The number");
      const sender = options.optional("sender") ?? "";
      await clients.consent.removeSuppression({
        tenantId: await tenantId(context),
        number,
        sender,
      });
      output.result({ number, sender, removed: true });
      return 0;
    },
  },
};
