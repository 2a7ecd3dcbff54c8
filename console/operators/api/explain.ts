import { word } from "../core/protobuf-json.ts";
import { quietNow, windowsText } from "../core/quiet-hours.ts";
import { rpc } from "./rpc.ts";
import type { ExplainedRoute, QuietHours, SenderId, Tenant } from "./types.ts";

/** One reason why a message may go or not. */
export type Check = {
  readonly name: string;
  readonly isGood: boolean;
  /** It would wait, and not be refused. */
  readonly isWait?: boolean;
  readonly why: string;
};

/** Asks each service that decides about a message to a number. */
export async function explain(
  asked: { readonly tenant: string; readonly from: string; readonly to: string },
  signal: AbortSignal,
) {
  const { tenant } = await rpc<{ tenant: Tenant }>(
    "TenantService/GetTenant",
    { idOrName: asked.tenant },
    signal,
  );
  const tenantId = tenant.id;
  const { senderIds } = await rpc<{ senderIds: SenderId[] }>(
    "SenderIdService/ListSenderIds",
    { tenantId, name: asked.from },
    signal,
  );
  const [senderId] = senderIds;
  const trafficClass = senderId?.trafficClass ?? "TRAFFIC_CLASS_TRANSACTIONAL";
  const explained = await rpc<{ to: string; country: string; routes: ExplainedRoute[] }>(
    "RoutingService/Explain",
    {
      ...{ tenantId, plan: tenant.plan, to: asked.to, from: asked.from, segments: 1 },
      trafficClass,
    },
    signal,
  );
  const [{ quietHours }, { suppressions }] = await Promise.all([
    rpc<{ quietHours: QuietHours[] }>("RoutingService/ListQuietHours", {}, signal),
    rpc<{ suppressions: { sender: string; source: string }[] }>(
      "ConsentService/ListSuppressions",
      { tenantId, number: explained.to },
      signal,
    ),
  ]);
  const rule = quietHours.find(
    (one) => one.country === explained.country && one.trafficClass === trafficClass,
  );
  const suppressed = suppressions.find(
    ({ sender }) => sender === "" || sender.toLowerCase() === asked.from.toLowerCase(),
  );
  const checks = [
    ofTenant(tenant),
    ofSender(senderId, asked.from),
    ofConsent(suppressed, trafficClass),
    ofQuietHours(rule, trafficClass),
    ofRoutes(explained.routes),
  ];
  return { ...explained, currency: tenant.currency, checks };
}

function ofTenant({ name, suspended, emailVerified }: Tenant): Check {
  if (suspended) return { name: "Tenant", isGood: false, why: `${name} is suspended.` };
  if (emailVerified) return { name: "Tenant", isGood: true, why: `${name} may send.` };
  return { name: "Tenant", isGood: false, why: `The e-mail address of ${name} is not verified.` };
}

function ofSender(senderId: SenderId | undefined, from: string): Check {
  const name = "Sender ID";
  if (senderId === undefined) return { name, isGood: false, why: `The tenant has no ${from}.` };
  const status = word(senderId.status, "SENDER_ID_STATUS");
  const kind = word(senderId.trafficClass, "TRAFFIC_CLASS");
  const why = `${senderId.name} is ${status}, for ${kind} messages.`;
  return { name, isGood: status === "approved", why };
}

function ofConsent(suppressed: { readonly source: string } | undefined, kind: string): Check {
  const name = "Opt-out";
  if (suppressed === undefined) return { name, isGood: true, why: "The number is not suppressed." };
  if (kind === "TRAFFIC_CLASS_OTP") {
    return { name, isGood: true, why: "The number is suppressed; one-time passwords still go." };
  }
  return { name, isGood: false, why: `The number is suppressed (${suppressed.source}).` };
}

function ofQuietHours(rule: QuietHours | undefined, kind: string): Check {
  const name = "Quiet hours";
  const of = word(kind, "TRAFFIC_CLASS");
  if (rule === undefined) {
    return { name, isGood: true, why: `There are none for ${of} messages to this country.` };
  }
  const windows = `${windowsText(rule)} in ${rule.timeZone}`;
  if (quietNow(rule, new Date()))
    return { name, isGood: false, isWait: true, why: `Now: ${windows}.` };
  return { name, isGood: true, why: `Not now: ${windows}.` };
}

function ofRoutes(routes: readonly ExplainedRoute[]): Check {
  const chosen = routes.find((one) => one.chosen);
  if (chosen === undefined) return { name: "Route", isGood: false, why: "No route serves it." };
  return { name: "Route", isGood: true, why: `It goes over ${chosen.route.name}.` };
}
