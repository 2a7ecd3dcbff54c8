import {
  DeliverySchema,
  DeliveryStatus,
  WebhookEndpointSchema,
  WebhookEndpointStatus,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { isRow, type Row } from "../../shared/cli/cell.ts";
import { readEnumWord } from "../../shared/cli/enum-word.ts";
import { AppError } from "../../shared/core/errors.ts";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { tenantId } from "../calls/tenants.ts";
import { createdWithin } from "../calls/time-range.ts";
import { LONG_CALL } from "../calls/timeouts.ts";
import { uncertainResult } from "../calls/uncertain-result.ts";
import type { CommandContext, Run } from "../cli/command.ts";
import { readMode } from "../cli/mode.ts";
import { toJson } from "../cli/to-json.ts";

/** The largest page of deliveries. */
const DELIVERIES_MAX = 100;

export const add: Run = async (context) => {
  const { clients, options, output } = context;
  const wanted = {
    tenantId: await tenantId(context),
    mode: readMode(options),
    url: options.required("url"),
    eventTypes: options.list("events"),
    description: options.optional("description") ?? "",
  };
  const { endpoint, secret } = await clients.webhooks.createEndpoint(wanted).catch(uncertainResult);
  if (endpoint === undefined) throw new AppError("internal_error", "The answer is empty.");
  await output.result({ ...toJson(WebhookEndpointSchema, endpoint), secret });
  output.note("The secret is shown this once.");
  return 0;
};

export const list: Run = async (context) => {
  const isWanted = createdWithin(context.options);
  const { endpoints } = await context.clients.webhooks.listEndpoints({
    tenantId: await tenantId(context),
  });
  await context.output.list(
    endpoints.filter(isWanted).map((endpoint) => toJson(WebhookEndpointSchema, endpoint)),
    {
      columns: ["id", "status", "mode", "url…", "failing_since", "event_types…", "created_at"],
      wide: ["disabled_reason", "description", "sources", "updated_at", "tenant_id"],
    },
  );
  return 0;
};

export const deliveries: Run = async (context) => {
  const { clients, options, output } = context;
  const { sinceMs = 0, untilMs = 0 } = options.range();
  const endpoint = {
    ...(await place(context)),
    statuses: options.list("status").map((text) => readEnumWord(DeliveryStatus, text, "status")),
    createdAfterMs: BigInt(sinceMs),
    createdBeforeMs: BigInt(untilMs),
  };
  const { items, nextCursor } = await readUpToLimit(
    options,
    50,
    async ({ limit, cursor }) => {
      const wanted = { ...endpoint, limit, beforeId: cursor };
      const { deliveries, hasMore } = await clients.webhooks.listDeliveries(wanted);
      return { items: deliveries, nextCursor: cursorAfter(deliveries, hasMore) };
    },
    DELIVERIES_MAX,
  );
  const rows = items.map((delivery) => toJson(DeliverySchema, delivery));
  await output.list(rows, {
    tableRows: rows.map(withLastAttempt),
    columns: [
      ...["id", "status", "attempts", "last_result…", "created_at", "event_type…"],
      "next_attempt_at",
    ],
    wide: ["completed_at", "event_id", "endpoint_id", "tenant_id"],
  });
  if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
  return 0;
};

export const resend: Run = async (context) => {
  const { delivery } = await context.clients.webhooks.resendDelivery({
    ...(await place(context)),
    deliveryId: context.options.word(1, "The delivery's id"),
  });
  if (delivery !== undefined) await context.output.result(toJson(DeliverySchema, delivery));
  return 0;
};

export const recover: Run = async (context) => {
  const sinceMs = context.options.instant("since");
  if (sinceMs === undefined) throw new AppError("validation_error", "--since is required.");
  const asked = { ...(await place(context)), sinceMs: BigInt(sinceMs) };
  const { recovered } = await context.clients.webhooks.recoverDeliveries(asked, LONG_CALL);
  await context.output.result({ recovered: Number(recovered) });
  return 0;
};

export const listen: Run = async (context) => (await import("./webhook-listen.ts")).listen(context);

/** Commands whose only argument is an endpoint. */
export const ON_ENDPOINT = {
  show: async (context) => {
    const { endpoint } = await context.clients.webhooks.getEndpoint(await place(context));
    if (endpoint !== undefined) {
      await context.output.result(toJson(WebhookEndpointSchema, endpoint));
    }
    return 0;
  },
  enable: setStatus(WebhookEndpointStatus.ENABLED),
  disable: setStatus(WebhookEndpointStatus.DISABLED),
  delete: async (context) => {
    const { tenantId: tenant, endpointId } = await place(context);
    await context.clients.webhooks.deleteEndpoint({ tenantId: tenant, endpointId });
    await context.output.result({ id: endpointId, deleted: true });
    return 0;
  },
  rotate: async (context) => {
    const { endpoint, secret } = await context.clients.webhooks.rotateSecret(await place(context));
    if (endpoint === undefined) throw new AppError("internal_error", "The answer is empty.");
    await context.output.result({ ...toJson(WebhookEndpointSchema, endpoint), secret });
    return 0;
  },
  test: async (context) => {
    const { delivery } = await context.clients.webhooks.sendTestEvent(await place(context));
    if (delivery !== undefined) await context.output.result(toJson(DeliverySchema, delivery));
    return 0;
  },
} satisfies Readonly<Record<string, Run>>;

/** The result of the last attempt in a column of its own. */
function withLastAttempt(delivery: Row): Row {
  const attempts = Array.isArray(delivery.attempts) ? delivery.attempts.filter(isRow) : [];
  const last = attempts.at(-1);
  const result = last?.error || last?.http_status || "";
  return { ...delivery, last_result: result };
}

function setStatus(status: WebhookEndpointStatus): Run {
  return async (context) => {
    const { endpoint } = await context.clients.webhooks.updateEndpoint({
      ...(await place(context)),
      status,
    });
    if (endpoint !== undefined) {
      await context.output.result(toJson(WebhookEndpointSchema, endpoint));
    }
    return 0;
  };
}

async function place(context: CommandContext): Promise<{ tenantId: string; endpointId: string }> {
  return {
    tenantId: await tenantId(context),
    endpointId: context.options.word(0, "The endpoint's id"),
  };
}
