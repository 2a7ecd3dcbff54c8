/** The audit trail of the account, merged from the trails of all services. */
import type { AuditRecord, ListAuditRecordsRequest } from "../../proto/gen/sms/v1/audit_pb.js";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { isId } from "../../services/shared/core/ids.ts";
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import { parseBound } from "../../services/shared/core/rfc3339.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { AUDIT_ENTRY_EXAMPLE } from "../docs/content/account-samples.ts";
import { pageOf } from "../docs/operation-doc.ts";
import type { Cursors } from "../lists/cursor.ts";
import { readPageCursor } from "../lists/page-cursor.ts";
import { AUDIT_ACTIONS, renderAuditEntry } from "../render/audit-entry.ts";
import { AUDIT_LIST } from "../schemas/audit.ts";
import { compileQuery } from "../schemas/query.ts";
import { refuse } from "../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";

type Asked = Pick<
  ListAuditRecordsRequest,
  "tenantId" | "method" | "actor" | "fromMs" | "toMs" | "limit" | "cursor"
>;

/** A client of a service with an audit trail. */
type Trail = {
  listAuditRecords(asked: Asked): Promise<{ readonly records: readonly AuditRecord[] }>;
};

export type AuditPorts = {
  readonly tenants: Trail;
  readonly senderIds: Trail;
  readonly wallets: Trail;
  readonly messaging: Trail;
  readonly webhooks: Trail;
  readonly campaigns: Trail;
  readonly consent: Trail;
  readonly cursors: Cursors;
};

/** The port of each service's interface. Routing has nothing that belongs to an account. */
const PORTS: Readonly<Record<string, Exclude<keyof AuditPorts, "cursors">>> = {
  TenantService: "tenants",
  SenderIdService: "senderIds",
  WalletService: "wallets",
  MessagingService: "messaging",
  WebhookService: "webhooks",
  CampaignService: "campaigns",
  ConsentService: "consent",
};

const readQuery = compileQuery(AUDIT_LIST);

/** Lists changes of the account (`docs/contract.md#audit-trail`). */
export function listAuditEntriesOperation(ports: AuditPorts): Operation {
  return {
    method: "GET",
    path: "/v1/audit-entries",
    scope: "audit:read",
    doc: {
      id: "listAuditEntries",
      tag: "Account",
      summary: "List the changes of the account",
      description:
        "Who changed what, newest first; kept for two years by default. Operators are not named. No entry has a " +
        "secret. A test key has none.",
      query: AUDIT_LIST,
      response: {
        status: 200,
        description: "One page.",
        schema: pageOf("AuditEntry"),
        example: { data: [AUDIT_ENTRY_EXAMPLE], next_cursor: null },
      },
      errors: ["validation_error"],
    },
    handle: (request) => list(ports, request),
  };
}

type Query = {
  readonly action?: string;
  readonly actor?: string;
  readonly created_after?: string;
  readonly created_before?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

async function list(
  ports: AuditPorts,
  { caller, query: text }: OperationRequest,
): Promise<OperationResponse> {
  const { tenantId, mode } = caller;
  const { values, faults } = readQuery(text);
  const query = values as Query;
  const fromMs = Math.max(0, parseBound(query.created_after ?? "") ?? 0);
  const endMs = parseBound(query.created_before ?? "");
  // 0 means no bound; nothing was changed before the first millisecond of 1970.
  const toMs = endMs === undefined ? 0 : Math.max(1, endMs);
  const { action, actor = "", limit = PAGE_DEFAULT } = query;
  const start = readPageCursor(ports.cursors, {
    list: "audit_entries",
    filters: [tenantId, mode, action ?? null, actor, fromMs, toMs],
    cursor: query.cursor,
    isEntry: (id) => isId("audit", id),
  });
  refuse([...faults, ...start.faults]);
  // The trail has no modes; a test key sees nothing that is live.
  if (mode === Mode.TEST) return { status: 200, body: { data: [], next_cursor: null } };
  const asked = {
    tenantId,
    actor,
    fromMs: BigInt(fromMs),
    toMs: BigInt(toMs),
    cursor: start.after,
  };
  const pages = await Promise.all(
    trailsOf(action).map(async ([port, method]) => {
      // Read one entry more than the page has, to know whether another page follows.
      const call = ports[port].listAuditRecords({ ...asked, method, limit: limit + 1 });
      return (await rpcAnswer(call)).records;
    }),
  );
  // Ids begin with the time and are unique over services, so they order the merged trail.
  const merged = pages.flat().sort((a, b) => (a.id < b.id ? 1 : -1));
  const shown = merged.slice(0, limit);
  const next_cursor = start.next(merged.length > limit ? shown.at(-1)?.id : undefined);
  return { status: 200, body: { data: shown.map(renderAuditEntry), next_cursor } };
}

/** The trails to read, each with the RPC method to filter by. Without an action: every trail, every method. */
function trailsOf(action: string | undefined) {
  if (action === undefined) return Object.values(PORTS).map((port) => [port, ""] as const);
  return Object.entries(AUDIT_ACTIONS)
    .filter(([, name]) => name === action)
    .map(
      ([method]) => [PORTS[method.split("/")[0] ?? ""] ?? "tenants", `sms.v1.${method}`] as const,
    );
}
