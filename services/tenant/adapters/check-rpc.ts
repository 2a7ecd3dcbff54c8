import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { CheckResultSchema } from "../../../proto/gen/sms/v1/operator_pb.js";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { pageLimit } from "../../shared/core/limits.ts";
import { auditSource } from "../../shared/io/audit-log.ts";
import type { CheckResult, CheckService } from "../app/checks.ts";

/** The handlers of check results: mapping between protobuf and the domain. */
export function checkHandlers(checks: CheckService): Partial<ServiceImpl<typeof TenantService>> {
  return {
    recordCheck: async (run) => {
      const compared = Object.entries(run.compared).map(([name, count]) => [name, Number(count)]);
      const result = await checks.record({
        tenantId: run.tenantId,
        person: auditSource().actor?.name ?? auditSource().caller,
        startedAtMs: Number(run.startedAtMs),
        isOk: run.ok,
        breaches: run.breaches,
        unlisted: Number(run.unlisted),
        unfinished: run.unfinished,
        compared: Object.fromEntries(compared),
      });
      return { result: toProto(result) };
    },
    listChecks: async ({ limit }) => ({
      results: (await checks.list(pageLimit(limit))).map(toProto),
    }),
  };
}

function toProto(result: CheckResult): MessageInitShape<typeof CheckResultSchema> {
  const compared = Object.entries(result.compared).map(([name, count]) => [name, BigInt(count)]);
  return {
    id: result.id,
    tenantId: result.tenantId,
    person: result.person,
    startedAtMs: BigInt(result.startedAtMs),
    finishedAtMs: BigInt(result.finishedAtMs),
    ok: result.isOk,
    breaches: result.breaches.map((one) => ({ ...one, ids: [...one.ids] })),
    unlisted: BigInt(result.unlisted),
    unfinished: [...result.unfinished],
    compared: Object.fromEntries(compared),
  };
}
