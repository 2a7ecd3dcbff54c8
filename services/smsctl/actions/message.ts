import {
  type Message,
  MessageSchema,
  MessageSource,
  MessageStatus,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import type { Row } from "../../shared/cli/cell.ts";
import { readEnumWord } from "../../shared/cli/enum-word.ts";
import { AppError } from "../../shared/core/errors.ts";
import { isId } from "../../shared/core/ids.ts";
import { normaliseNumber } from "../../shared/core/phone.ts";
import { toAppError } from "../../shared/rpc/error-status.ts";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { findTenant, tenantId, tenantIfGiven } from "../calls/tenants.ts";
import { LONG_CALL } from "../calls/timeouts.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { readMode } from "../cli/mode.ts";
import { toJson } from "../cli/to-json.ts";

/** Concurrent calls when many messages are cancelled. */
const CONCURRENCY = 8;

/** Tenants per call of `find`, and the most calls: 100,000 tenants. */
const TENANTS_PER_CALL = 100;
const CALLS_MAX = 1000;

export const show: Run = async (context) => {
  const { clients, options, output } = context;
  const messageId = options.word(0, "The message's id");
  if (options.optional("tenant") === undefined) {
    const { messages } = await clients.messaging.findMessages({ messageId });
    const [found] = messages;
    if (found === undefined) {
      throw new AppError("not_found", `There is no message ${messageId}.`);
    }
    await output.result(toJson(MessageSchema, found));
    return 0;
  }
  const asked = { tenantId: await tenantId(context), messageId };
  const { message } = await clients.messaging.getMessage(asked);
  if (message !== undefined) await output.result(toJson(MessageSchema, message));
  return 0;
};

/** The messages of all tenants to a number: each call of messaging searches the next 100 tenants. */
export const find: Run = async (context) => {
  const { clients, options, output } = context;
  const { sinceMs = 0, untilMs = 0 } = options.range("since", "until");
  const wanted = {
    to: readNumber(options.word(0, "The number")),
    tenantId: await tenantIfGiven(context),
    createdAfterMs: BigInt(sinceMs),
    createdBeforeMs: BigInt(untilMs),
    limit: options.count("limit") ?? 10,
    tenants: TENANTS_PER_CALL,
  };
  const found: Message[] = [];
  let afterTenantId = "";
  let calls = 0;
  do {
    const page = await clients.messaging.findMessages({ ...wanted, afterTenantId });
    found.push(...page.messages);
    afterTenantId = page.nextTenantId;
    calls += 1;
  } while (afterTenantId !== "" && calls < CALLS_MAX);
  found.sort((one, other) => (one.id < other.id ? 1 : -1));
  const rows = found.map(withoutHistory);
  const names = output.isForPeople ? await tenantNames(clients, found) : undefined;
  await output.list(rows, {
    columns: ["id", "status", "created_at", "tenant…", "from", "error.code", "body…"],
    wide: [...LIST.wide, "to", "tenant_id"],
    headings: { "error.code": "error" },
    tableRows: rows.map((row) => ({ ...row, tenant: names?.get(String(row.tenant_id)) ?? "" })),
  });
  if (afterTenantId !== "") output.more("there are more tenants: give --tenant");
  return 0;
};

/** The columns of messages. */
const LIST = {
  columns: [
    ...["id", "status", "to…", "from", "created_at", "segments", "amount", "error.code"],
    ...["client_reference", "body…"],
  ],
  wide: [
    ...["mode", "source", "sent_at", "completed_at", "scheduled_at", "held_amount", "unit_price"],
    ...["currency", "campaign_id", "connector_id", "route_id", "carrier_code", "reservation_id"],
  ],
  headings: { "error.code": "error", client_reference: "reference" },
} as const;

export const list: Run = async (context) => {
  const { clients, options, output } = context;
  const { sinceMs = 0, untilMs = 0 } = options.range();
  const recipient = options.named("recipient");
  const wanted = {
    tenantId: await tenantId(context),
    statuses: options.list("status").map((text) => readEnumWord(MessageStatus, text, "status")),
    to: recipient === undefined ? "" : readNumber(recipient),
    from: options.named("sender") ?? "",
    clientReference: options.named("reference") ?? "",
    campaignId: options.named("campaign") ?? "",
    sources: options.list("source").map(readSource),
    createdAfterMs: BigInt(sinceMs),
    createdBeforeMs: BigInt(untilMs),
  };
  const { items, nextCursor } = await readUpToLimit(options, 50, async ({ limit, cursor }) => {
    const page = await clients.messaging.listMessages({ ...wanted, limit, beforeId: cursor });
    return { items: page.messages, nextCursor: cursorAfter(page.messages, page.hasMore) };
  });
  await output.list(items.map(withoutHistory), LIST);
  if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
  return 0;
};

export const cancelCampaign: Run = async (context) => {
  const campaignId = context.options.word(0, "The campaign's id");
  // Messaging knows campaigns only by their messages: a wrong id would succeed and cancel nothing.
  if (!isId("campaign", campaignId)) {
    throw new AppError("validation_error", `${campaignId} is no campaign's id (cmp_…).`);
  }
  const { cancelled, unchanged } = await context.clients.messaging.cancelCampaign(
    { tenantId: await tenantId(context), campaignId },
    LONG_CALL,
  );
  await context.output.result({
    campaign_id: campaignId,
    cancelled: Number(cancelled),
    unchanged: Number(unchanged),
  });
  return 0;
};

/** The names of the tenants of messages; for an unknown tenant its id. */
async function tenantNames(
  clients: CommandContext["clients"],
  messages: readonly Message[],
): Promise<Map<string, string>> {
  const ids = [...new Set(messages.map(({ tenantId }) => tenantId))];
  const names = new Map<string, string>();
  for (const id of ids) {
    const tenant = await findTenant(clients, id).catch(() => undefined);
    names.set(id, tenant?.name ?? id);
  }
  return names;
}

function withoutHistory(message: Message): Row {
  const { history: _history, ...shown } = toJson(MessageSchema, message);
  return shown;
}

/** Sends one message for a tenant. Without an idempotency key: a repeat sends again. */
export const send: Run = async (context) => {
  const { clients, options, output } = context;
  const source = readSource(options.named("source") ?? "api");
  if (source === MessageSource.CAMPAIGN) {
    throw new AppError("validation_error", "A campaign's messages are sent by its campaign.");
  }
  const mode = readMode(options);
  const { message } = await clients.messaging.sendMessages({
    tenantId: await tenantId(context),
    source,
    mode,
    endpoint: SendEndpoint.SINGLE,
    from: options.required("from"),
    body: options.required("body"),
    clientReference: options.named("reference") ?? "",
    sendAtMs: BigInt(options.instant("at") ?? 0),
    recipients: [{ to: options.required("to") }],
  });
  if (message !== undefined) await output.result(toJson(MessageSchema, message));
  return 0;
};

/** Cancels each message; lists those that were refused, without stopping at them. */
export const cancel: Run = async (context) => {
  const { clients, options, output } = context;
  const ids = options.words("The message's id");
  const tenant = await tenantId(context);
  const [only] = ids;
  if (only !== undefined && ids.length === 1) {
    const { message } = await clients.messaging.cancelMessage({
      tenantId: tenant,
      messageId: only,
    });
    if (message !== undefined) await output.result(toJson(MessageSchema, message));
    return 0;
  }
  const rows: { id: string; status: string; error: string }[] = [];
  for (let at = 0; at < ids.length; at += CONCURRENCY) {
    const some = ids.slice(at, at + CONCURRENCY).map(async (messageId) => {
      try {
        await clients.messaging.cancelMessage({ tenantId: tenant, messageId });
        return { id: messageId, status: "cancelled", error: "" };
      } catch (thrown) {
        return { id: messageId, status: "", error: toAppError(thrown).message };
      }
    });
    rows.push(...(await Promise.all(some)));
  }
  await output.list(rows, { columns: ["id", "status", "error…"] });
  const refused = rows.filter(({ error }) => error !== "").length;
  if (refused === 0) return 0;
  const text = `${refused} of ${rows.length} messages were not cancelled.`;
  return output.failed(new AppError("conflict", text));
};

function readNumber(text: string): string {
  const number = normaliseNumber(text);
  if (number !== undefined) return number;
  throw new AppError("validation_error", `${text} is no phone number.`);
}

function readSource(text: string): MessageSource {
  return readEnumWord(MessageSource, text, "source");
}
