/** The RPC that every service with an audit trail serves. */
import type { DescService, MessageInitShape } from "@bufbuild/protobuf";
import type {
  ListAuditRecordsRequest,
  ListAuditRecordsResponseSchema,
} from "../../../proto/gen/sms/v1/audit_pb.js";
import { invalidField } from "../core/limits.ts";
import type { AuditEntry, AuditLog } from "../io/audit-log.ts";

/** The longest filter, in characters. */
const TEXT_MAX = 128;
/** The year 9999: later instants are no dates. */
const INSTANT_MAX = 253_402_300_799_999n;

/** The handler of `ListAuditRecords` for the trail of one service. */
export function auditHandler(
  { typeName }: DescService,
  { list }: Pick<AuditLog, "list">,
): {
  listAuditRecords(
    request: ListAuditRecordsRequest,
  ): Promise<MessageInitShape<typeof ListAuditRecordsResponseSchema>>;
} {
  return {
    async listAuditRecords({ tenantId, method, caller, actor, fromMs, toMs, limit, cursor }) {
      const texts = { tenant_id: tenantId, method, caller, actor };
      for (const [field, text] of Object.entries(texts)) {
        if (text.length > TEXT_MAX) throw invalidField(field, "too_long", "is too long");
      }
      const query = {
        ...{ tenantId, caller, actor, limit, cursor },
        method: method === "" || method.includes("/") ? method : `${typeName}/${method}`,
        fromMs: readInstant("from_ms", fromMs),
        toMs: readInstant("to_ms", toMs),
      };
      const { entries, nextCursor } = await list(query);
      return { records: entries.map(toRecord), nextCursor };
    },
  };
}

function readInstant(field: string, ms: bigint): number {
  if (ms >= 0n && ms <= INSTANT_MAX) return Number(ms);
  throw invalidField(field, "out_of_range", "is no instant");
}

function toRecord({ createdAtMs, actor, ...entry }: AuditEntry) {
  return { ...entry, createdAtMs: BigInt(createdAtMs), ...(actor === undefined ? {} : { actor }) };
}
