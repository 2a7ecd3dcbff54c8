/** The part of `sms.v1.CampaignService` that operators call. */
import type { ServiceImpl } from "@connectrpc/connect";
import { CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { checkItems } from "../../shared/core/limits.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { type DeadLetters, replayAudited } from "../../shared/io/dead-letters.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import type { createCheck } from "../app/check-campaigns.ts";
import { targetOf } from "./campaign-scope.ts";
import { rowToProto } from "./proto.ts";

/** The use cases behind these RPCs. */
export type OperatorUseCases = {
  readonly check: ReturnType<typeof createCheck>;
  readonly deadLetters: DeadLetters;
  readonly audit: AuditLog;
};

/** The most numbers or ids in one request. */
const ITEMS_MAX = 1000;

export function operatorMethods({ check, deadLetters, audit }: OperatorUseCases) {
  return {
    ...auditHandler(CampaignService, audit),
    async *checkCampaigns({ tenantId }) {
      for await (const part of check.all(tenantId || undefined)) {
        const breaches = part.breaches.map((breach) => ({ ...breach, ids: [...breach.ids] }));
        yield { ...part, breaches };
      }
    },
    async findRecipients(request) {
      const { scope, id } = targetOf(request);
      checkItems("numbers", request.numbers.length, 1, ITEMS_MAX);
      const { rows, isExpired } = await check.rowsOf(scope, id, request.numbers);
      return { recipients: rows.map(rowToProto), rowsExpired: isExpired };
    },
    async listDeadLetters({ cursor, limit }) {
      const { letters, nextCursor } = await deadLetters.list(cursor, limit);
      return {
        deadLetters: letters.map(({ id, subject, reason, createdAtMs }) => ({
          ...{ id, subject, reason },
          createdAtMs: BigInt(createdAtMs),
        })),
        nextCursor,
      };
    },
    async replayDeadLetters({ ids }) {
      checkItems("ids", ids.length, 0, ITEMS_MAX);
      return { replayed: await replayAudited(deadLetters, audit, ids) };
    },
  } satisfies Partial<ServiceImpl<typeof CampaignService>>;
}
