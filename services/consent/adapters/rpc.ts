/** `sms.v1.ConsentService`: maps requests to use cases and results to responses. */
import type { ServiceImpl } from "@connectrpc/connect";
import { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { ID_TIME_MAX_MS, isId } from "../../shared/core/ids.ts";
import {
  checkItems,
  checkKnown,
  invalidField,
  PAGE_MAX,
  pageLimit,
} from "../../shared/core/limits.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import { checkInbound } from "../app/check-inbound.ts";
import type { InboundStore } from "../app/ports.ts";
import type { Receive } from "../app/receive.ts";
import type { ConsentSettings } from "../app/settings.ts";
import type { SubmittedSuppression, Suppressions } from "../app/suppressions.ts";
import {
  keywordsToProto,
  messageToProto,
  numberToProto,
  readKeywords,
  readPart,
  suppressionToProto,
} from "./proto.ts";
import { readSuppressionsCsv } from "./suppressions-csv.ts";

/** The use cases behind the interface. */
export type UseCases = {
  readonly receive: Receive;
  readonly inbound: Pick<InboundStore, "list" | "find" | "count" | "hasRepeatKey" | "findDoubled">;
  readonly suppressions: Suppressions;
  readonly settings: ConsentSettings;
  readonly audit: AuditLog;
};

type Methods = ServiceImpl<typeof ConsentService>;

const PARTS_MAX = 500;
const ITEMS_MAX = 1000;

/** The handlers of `ConsentService`. */
export function createConsentRpc(useCases: UseCases): Methods {
  return {
    ...inboundMethods(useCases),
    ...suppressionMethods(useCases),
    ...settingMethods(useCases),
    ...auditHandler(ConsentService, useCases.audit),
  };
}

function inboundMethods({
  receive,
  inbound,
}: UseCases): Pick<
  Methods,
  "recordInbound" | "confirmInbound" | "listInboundMessages" | "getInboundMessage" | "checkInbound"
> {
  return {
    async recordInbound({ parts }) {
      checkItems("parts", parts.length, 0, PARTS_MAX);
      return { tickets: await receive.record(parts.map(readPart)) };
    },
    async confirmInbound({ tickets }) {
      checkItems("tickets", tickets.length, 0, ITEMS_MAX);
      await receive.confirm(tickets);
      return {};
    },
    async listInboundMessages(request) {
      const limit = pageLimit(request.limit, PAGE_MAX);
      const { beforeId, receivedAfterMs, receivedBeforeMs } = request;
      if (beforeId !== "" && !isId("inboundMessage", beforeId)) {
        throw invalidField("before_id", "invalid_value", "is not an inbound message's id");
      }
      const messages = await inbound.list({
        tenantId: request.tenantId || undefined,
        from: request.from,
        to: request.to.replace(/^\+/, ""),
        receivedAfterMs: Number(receivedAfterMs),
        receivedBeforeMs: receivedBeforeMs === 0n ? ID_TIME_MAX_MS : Number(receivedBeforeMs),
        limit: limit + 1,
        beforeId,
      });
      return {
        messages: messages.slice(0, limit).map(messageToProto),
        hasMore: messages.length > limit,
      };
    },
    async getInboundMessage({ tenantId, id }) {
      const message = isId("inboundMessage", id)
        ? await inbound.find(tenantId || undefined, id)
        : undefined;
      if (message === undefined) throw new AppError("not_found", "There is no such message.");
      return { message: messageToProto(message) };
    },
    async *checkInbound({ tenantId: asked }) {
      const tenantId = asked || undefined;
      for await (const breach of checkInbound(inbound, tenantId)) {
        yield { breaches: [{ ...breach, ids: [...breach.ids] }] };
      }
      yield { messages: BigInt(await inbound.count(tenantId)), done: true };
    },
  };
}

function suppressionMethods({
  suppressions,
}: UseCases): Pick<
  Methods,
  | "getSuppressionTable"
  | "checkSuppressions"
  | "listSuppressions"
  | "addSuppressions"
  | "removeSuppression"
> {
  return {
    async getSuppressionTable({ tenantId, knownVersion }) {
      const table = await suppressions.table(tenantId, Number(knownVersion));
      return {
        version: BigInt(table.version),
        unchanged: table.isUnchanged,
        isLarge: table.numbers === undefined,
        numbers: (table.numbers ?? []).map(({ number, sender }) => ({ number, sender })),
      };
    },
    async checkSuppressions({ tenantId, sender, numbers }) {
      checkItems("numbers", numbers.length, 0, ITEMS_MAX);
      return { suppressed: await suppressions.check(tenantId, sender, numbers) };
    },
    async listSuppressions({ tenantId, number, limit: wanted, after }) {
      checkTenant(tenantId);
      const limit = pageLimit(wanted);
      const found = await suppressions.list({ tenantId, number, after, limit: limit + 1 });
      const shown = found.slice(0, limit);
      const last = found.length > limit ? shown.at(-1) : undefined;
      return {
        suppressions: shown.map(suppressionToProto),
        next: last === undefined ? "" : `${last.number}|${last.sender}`,
      };
    },
    async addSuppressions({ tenantId, suppressions: rows, csv, source: wanted }, { signal }) {
      checkTenant(tenantId);
      const isFile = csv.length > 0;
      if (!isFile) checkItems("suppressions", rows.length, 1, ITEMS_MAX);
      const source = isFile
        ? "import"
        : checkKnown(
            "source",
            SOURCES.find((one) => one === wanted),
          );
      const given = isFile ? readSuppressionsCsv(csv, signal) : listed(rows);
      const made = await suppressions.add(tenantId, source, given);
      return { ...made, faults: made.faults.map((fault) => ({ ...fault })) };
    },
    async removeSuppression({ tenantId, number, sender }) {
      await suppressions.remove(tenantId, number, sender);
      return {};
    },
  };
}

/** The sources of suppressions that this interface accepts. */
const SOURCES = ["api", "operator"] as const;

async function* listed(
  rows: readonly { number: string; sender: string; reason: string }[],
): AsyncGenerator<SubmittedSuppression> {
  for (const [line, { number, sender, reason }] of rows.entries()) {
    yield { line, number, sender, reason };
  }
}

function settingMethods({
  settings,
}: UseCases): Pick<
  Methods,
  | "createInboundNumber"
  | "listInboundNumbers"
  | "removeInboundNumber"
  | "setKeywords"
  | "getKeywords"
> {
  return {
    async createInboundNumber({ number, tenantId, keyword, sender }) {
      checkTenant(tenantId);
      const made = await settings.addNumber({ number, tenantId, keyword, sender });
      return { inboundNumber: numberToProto(made) };
    },
    async listInboundNumbers({ tenantId }) {
      const numbers = await settings.listNumbers(tenantId || undefined);
      return { inboundNumbers: numbers.map(numberToProto) };
    },
    async removeInboundNumber({ tenantId, id }) {
      await settings.removeNumber(tenantId, id);
      return {};
    },
    async setKeywords({ tenantId, keywords }) {
      checkTenant(tenantId);
      const set = await settings.setKeywords(tenantId, readKeywords(keywords));
      return { keywords: keywordsToProto(set) };
    },
    async getKeywords({ tenantId }) {
      return { keywords: keywordsToProto(await settings.keywords(tenantId)) };
    },
  };
}

function checkTenant(tenantId: string): void {
  if (!isId("tenant", tenantId)) throw new AppError("not_found", "There is no such tenant.");
}
