import { type AuditRecord, AuditRecordSchema } from "../../../proto/gen/sms/v1/audit_pb.js";
import { isRow, type Json, type Row } from "../../shared/cli/cell.ts";
import { AppError } from "../../shared/core/errors.ts";
import type { Clients } from "../calls/clients.ts";
import { mergePages, readUpToLimit } from "../calls/pages.ts";
import { tenantIfGiven } from "../calls/tenants.ts";
import type { Run } from "../cli/command.ts";
import { toJson } from "../cli/to-json.ts";

/** The services with an audit trail, and their clients. */
const TRAILS = {
  tenant: "tenants",
  "sender-id": "senderIds",
  wallet: "wallets",
  routing: "routing",
  messaging: "messaging",
  webhook: "webhooks",
  campaign: "campaigns",
  consent: "consent",
} as const satisfies Readonly<Record<string, keyof Clients>>;

/** The audit trail of all services or of one, newest first. */
export const audit: Run = async (context) => {
  const { clients, options, output } = context;
  const { sinceMs = 0, untilMs = 0 } = options.range();
  const wanted = {
    tenantId: await tenantIfGiven(context),
    method: options.named("method") ?? "",
    caller: options.named("caller") ?? "",
    fromMs: BigInt(sinceMs),
    toMs: BigInt(untilMs),
  };
  const services = options.list("service").map(readService);
  const trails = services.length === 0 ? Object.values(TRAILS) : services;
  const { items, nextCursor } = await readUpToLimit(options, 50, async (wish) => {
    const pages = await Promise.all(
      trails.map((trail) => clients[trail].listAuditRecords({ ...wanted, ...wish })),
    );
    return mergePages(
      pages.map(({ records, nextCursor }) => ({ items: records, nextCursor })),
      { limit: wish.limit, newestFirst: true },
    );
  });
  const rows = items.map(shownRecord);
  await output.list(rows, {
    columns: [
      ...["created_at", "method…", "actor…", "subject", "service", "after…", "before…"],
      "caller",
    ],
    wide: ["tenant_id", "request_id", "id"],
    tableRows: rows.map((row) => ({
      ...row,
      // `--method` takes the name without its service.
      method: String(row.method).replace(/^.*\//, ""),
      service: String(row.method).replace(/^sms\.v1\.(\w+)Service\/.*$/, "$1"),
      actor: isRow(row.actor) ? (row.actor.name ?? "") : "",
    })),
  });
  if (nextCursor !== "") output.more(`older ones: --cursor ${nextCursor}`);
  return 0;
};

/** The client of the service with this name; throws `validation_error` for a service without a trail. */
function readService(name: string): (typeof TRAILS)[keyof typeof TRAILS] {
  const trail = Object.hasOwn(TRAILS, name) ? TRAILS[name as keyof typeof TRAILS] : undefined;
  if (trail !== undefined) return trail;
  const known = Object.keys(TRAILS).join(", ");
  throw new AppError("validation_error", `There is no service ${name}; there are: ${known}.`);
}

/** The changed fields as values, not as texts of JSON. */
function shownRecord(record: AuditRecord): Row {
  const parsed = (text: string): Json => (text === "" ? null : (JSON.parse(text) as Json));
  const { actor, before: _, after: __, ...shown } = toJson(AuditRecordSchema, record);
  return {
    ...shown,
    actor: record.actor === undefined ? "" : (actor ?? ""),
    before: parsed(record.before),
    after: parsed(record.after),
  };
}
