/** The settings of each component: those that its code reads, minus those that the chart sets. */
import { GATEWAY_SETTINGS } from "../../gateway/config.ts";
import { CAMPAIGN_SETTINGS } from "../../services/campaign/config.ts";
import { CARRIER_SETTINGS } from "../../services/carrier/config.ts";
import { CONSENT_SETTINGS } from "../../services/consent/config.ts";
import { MESSAGING_SETTINGS } from "../../services/messaging/config.ts";
import { OPERATOR_CONSOLE_SETTINGS } from "../../services/operator-console/config.ts";
import { ROUTING_SETTINGS } from "../../services/routing/config.ts";
import { SENDER_ID_SETTINGS } from "../../services/sender-id/config.ts";
import type { Schema, Setting } from "../../services/shared/io/config.ts";
import { SIMULATOR_SETTINGS } from "../../services/smsc-simulator/config.ts";
import { TENANT_SETTINGS } from "../../services/tenant/config.ts";
import { WALLET_SETTINGS } from "../../services/wallet/config.ts";
import { WEBHOOK_SETTINGS } from "../../services/webhook/config.ts";

/** The schema of each component's `config.ts`; migration and test read only what the chart sets. */
const SCHEMAS: Readonly<Record<string, Schema>> = {
  gateway: GATEWAY_SETTINGS,
  tenant: TENANT_SETTINGS,
  "sender-id": SENDER_ID_SETTINGS,
  wallet: WALLET_SETTINGS,
  routing: ROUTING_SETTINGS,
  messaging: MESSAGING_SETTINGS,
  carrier: CARRIER_SETTINGS,
  webhook: WEBHOOK_SETTINGS,
  campaign: CAMPAIGN_SETTINGS,
  consent: CONSENT_SETTINGS,
  "operator-console": OPERATOR_CONSOLE_SETTINGS,
  "smsc-simulator": SIMULATOR_SETTINGS,
};

/** Settings derived from other values, or different in each pod: they must not be set by hand. */
const OWNED = new RegExp(
  `^(${[
    "HOST|PORT|\\w+_GRPC|MONGODB_\\w+|NATS_\\w+|REDIS_\\w+",
    "EVENT_STREAM_\\w+|ENCRYPTION_KEYS|CURSOR_KEY",
    "CARRIER_ID|CARRIER_JOURNAL_DIR|CARRIER_RECEIPT_(HOST|PORT|URL)",
    "SMSC_(HOST|PORT|CONTROL_PORT|SYSTEM_ID|PASSWORD)|GATEWAY_(REPLICAS|PEERS)",
    "OPERATOR_CONSOLE_(HOST|PORT|URL)|CARRIER_OPS",
    "WEBHOOK_ALLOWED_(NETWORKS|PORTS)|WEBHOOK_INSTANCE",
  ].join("|")})$`,
);

/** The permitted `settings` of a component, sorted by name. */
export function settingsOf(component: string): (readonly [string, Setting<unknown>])[] {
  return Object.entries(SCHEMAS[component] ?? {})
    .filter(([name]) => !OWNED.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
