import {
  DeliverySchema,
  DeliveryStatus,
  WebhookEndpointSchema,
  WebhookEndpointStatus,
} from "../../../proto/gen/sms/v1/webhook_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { cursorAfter, readUpToLimit } from "../calls/pages.ts";
import { tenantId } from "../calls/tenants.ts";
import { LONG_CALL } from "../calls/timeouts.ts";
import { uncertainResult } from "../calls/uncertain-result.ts";
import type { Command, CommandContext, Commands } from "../cli/command.ts";
import { readEnumWord } from "../cli/enum-word.ts";
import { readMode } from "../cli/mode.ts";
import { toJson } from "../cli/to-json.ts";
import { listen } from "./webhook-listen.ts";

/** The largest page of deliveries. */
const DELIVERIES_MAX = 100;

/** `smsctl webhook …` */
export const WEBHOOK_COMMANDS: Commands = {
  add: {
    usage: "webhook add --tenant T --url U [--mode live|test --events a,b --description D]",
    async run(context) {
      const { clients, options, output } = context;
      const wanted = {
        tenantId: await tenantId(context),
        mode: readMode(options),
        url: options.required("url"),
        eventTypes: options.list("events"),
        description: options.optional("description") ?? "",
      };
      const { endpoint, secret } = await clients.webhooks
        .createEndpoint(wanted)
        .catch(uncertainResult);
      if (endpoint === undefined) throw new AppError("internal_error", "The answer is empty.");
      output.result({ ...toJson(WebhookEndpointSchema, endpoint), secret });
      output.note("The secret is shown this once.");
      return 0;
    },
  },
  list: {
    usage: "webhook list --tenant T",
    async run(context) {
      const { endpoints } = await context.clients.webhooks.listEndpoints({
        tenantId: await tenantId(context),
      });
      context.output.result(endpoints.map((endpoint) => toJson(WebhookEndpointSchema, endpoint)));
      return 0;
    },
  },
  show: {
    usage: "webhook show ENDPOINT_ID --tenant T",
    async run(context) {
      const { endpoint } = await context.clients.webhooks.getEndpoint(await place(context));
      if (endpoint !== undefined) context.output.result(toJson(WebhookEndpointSchema, endpoint));
      return 0;
    },
  },
  enable: setStatus("enable", WebhookEndpointStatus.ENABLED),
  disable: setStatus("disable", WebhookEndpointStatus.DISABLED),
  delete: {
    usage: "webhook delete ENDPOINT_ID --tenant T",
    async run(context) {
      const { tenantId: tenant, endpointId } = await place(context);
      await context.clients.webhooks.deleteEndpoint({ tenantId: tenant, endpointId });
      context.output.result({ id: endpointId, deleted: true });
      return 0;
    },
  },
  rotate: {
    usage: "webhook rotate ENDPOINT_ID --tenant T",
    async run(context) {
      const { endpoint, secret } = await context.clients.webhooks.rotateSecret(
        await place(context),
      );
      if (endpoint === undefined) throw new AppError("internal_error", "The answer is empty.");
      context.output.result({ ...toJson(WebhookEndpointSchema, endpoint), secret });
      return 0;
    },
  },
  deliveries: {
    usage:
      "webhook deliveries ENDPOINT_ID --tenant T [--status S,… --from TIME --to TIME --limit N --cursor C]",
    async run(context) {
      const { clients, options, output } = context;
      const endpoint = {
        ...(await place(context)),
        statuses: options
          .list("status")
          .map((text) => readEnumWord(DeliveryStatus, text, "status")),
        createdAfterMs: BigInt(options.instant("from") ?? 0),
        createdBeforeMs: BigInt(options.instant("to") ?? 0),
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
      output.result(items.map((delivery) => toJson(DeliverySchema, delivery)));
      if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
      return 0;
    },
  },
  resend: {
    usage: "webhook resend ENDPOINT_ID DELIVERY_ID --tenant T",
    async run(context) {
      const { delivery } = await context.clients.webhooks.resendDelivery({
        ...(await place(context)),
        deliveryId: context.options.word(3, "The delivery's id"),
      });
      if (delivery !== undefined) context.output.result(toJson(DeliverySchema, delivery));
      return 0;
    },
  },
  recover: {
    usage: "webhook recover ENDPOINT_ID --tenant T --since TIME",
    async run(context) {
      const sinceMs = context.options.instant("since");
      if (sinceMs === undefined) throw new AppError("validation_error", "--since is required.");
      const asked = { ...(await place(context)), sinceMs: BigInt(sinceMs) };
      const { recovered } = await context.clients.webhooks.recoverDeliveries(asked, LONG_CALL);
      context.output.result({ recovered: Number(recovered) });
      return 0;
    },
  },
  listen: {
    usage:
      "webhook listen --tenant T [--mode live|test --events a,b --port P --cert FILE --key FILE --url PUBLIC_URL]",
    endsItself: true,
    run: listen,
  },
  test: {
    usage: "webhook test ENDPOINT_ID --tenant T",
    async run(context) {
      const { delivery } = await context.clients.webhooks.sendTestEvent(await place(context));
      if (delivery !== undefined) context.output.result(toJson(DeliverySchema, delivery));
      return 0;
    },
  },
};

function setStatus(verb: string, status: WebhookEndpointStatus): Command {
  return {
    usage: `webhook ${verb} ENDPOINT_ID --tenant T`,
    async run(context) {
      const { endpoint } = await context.clients.webhooks.updateEndpoint({
        ...(await place(context)),
        status,
      });
      if (endpoint !== undefined) context.output.result(toJson(WebhookEndpointSchema, endpoint));
      return 0;
    },
  };
}

async function place(context: CommandContext): Promise<{ tenantId: string; endpointId: string }> {
  return {
    tenantId: await tenantId(context),
    endpointId: context.options.word(2, "The endpoint's id"),
  };
}
