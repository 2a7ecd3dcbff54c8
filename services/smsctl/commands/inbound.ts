import {
  InboundMessageSchema,
  InboundNumberSchema,
  KeywordsSchema,
  SuppressionSchema,
} from "../../../proto/gen/sms/v1/consent_pb.js";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { tenantId } from "../calls/tenants.ts";
import type { CommandContext, Commands } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** The largest page of inbound messages. */
const MESSAGES_MAX = 100;

/** The tenant of `--tenant`; empty without it. */
async function tenantOrNone(context: CommandContext): Promise<string> {
  return context.options.optional("tenant") === undefined ? "" : tenantId(context);
}

/** `smsctl inbound …`: what handsets have sent. */
export const INBOUND_COMMANDS: Commands = {
  list: {
    usage: "inbound list [--tenant T --from N --to N --limit N --cursor C]",
    async run(context) {
      const { clients, options, output } = context;
      const wanted = {
        tenantId: await tenantOrNone(context),
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
      const asked = { tenantId: await tenantOrNone(context), id };
      const { message } = await clients.consent.getInboundMessage(asked);
      if (message !== undefined) output.result(toJson(InboundMessageSchema, message));
      return 0;
    },
  },
};

/** `smsctl inbound-number …`: whose what handsets send to a number is. */
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
      const asked = { tenantId: await tenantOrNone(context) };
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

/** `smsctl suppression …`: numbers that must not be written to. */
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
