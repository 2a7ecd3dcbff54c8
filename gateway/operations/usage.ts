/** Counts of messages, segments and charges, by groups. */
import type { Client } from "@connectrpc/connect";
import type { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import type { Clock } from "../../services/shared/core/clock.ts";
import type { FieldError } from "../../services/shared/core/errors.ts";
import { formatInstant, parseBound } from "../../services/shared/core/rfc3339.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { USAGE_EXAMPLE } from "../docs/content/account-samples.ts";
import { dataOf } from "../docs/operation-doc.ts";
import { modeName } from "../render/message.ts";
import { DIMENSIONS, renderUsageGroup, renderUsageTotal } from "../render/usage.ts";
import { compileQuery } from "../schemas/query.ts";
import { USAGE_QUERY } from "../schemas/usage.ts";
import { refuse } from "../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";

export type UsagePorts = {
  readonly messaging: Client<typeof MessagingService>;
  readonly clock: Clock;
};

const STEP_MS = 900_000;
const DAY_MS = 86_400_000;
const DEFAULT_MS = 30 * DAY_MS;
const SPAN_MAX_MS = 92 * DAY_MS;
/** Longer than messaging's time limit for the query, so that messaging's own error arrives. */
const CALL = { timeoutMs: 8000 } as const;

const readQuery = compileQuery(USAGE_QUERY);

/** Counts messages (`docs/contract.md#usage`). */
export function usageOperation(ports: UsagePorts): Operation {
  return {
    method: "GET",
    path: "/v1/usage",
    scope: "usage:read",
    isScan: true,
    doc: {
      id: "getUsage",
      tag: "Usage",
      summary: "Count messages",
      description:
        "Counts the messages of the key's mode by the time of their creation, with their segments and what was " +
        "charged for them; the last 30 days unless bounds are given, 92 days at most. Counts are at most a minute " +
        "old; `as_of` has their age. An answer has at most 10,000 groups; more are 422 `too_many` at `group_by`.",
      query: USAGE_QUERY,
      response: {
        status: 200,
        description: "The counts.",
        schema: dataOf("Usage"),
        example: { data: USAGE_EXAMPLE },
      },
      errors: ["validation_error"],
    },
    handle: (request) => count(ports, request),
  };
}

type Query = {
  readonly group_by?: string;
  readonly created_after?: string;
  readonly created_before?: string;
  readonly time_zone?: string;
};

async function count(ports: UsagePorts, request: OperationRequest): Promise<OperationResponse> {
  const { tenantId, mode, currency } = request.caller;
  const { values, faults } = readQuery(request.query);
  const query = values as Query;
  const timeZone = query.time_zone ?? "UTC";
  const { range, faults: rangeFaults } = rangeOf(query, ports.clock.now());
  const known = new Set(faults.map(({ field }) => field));
  const more = [...rangeFaults, ...zoneFaults(timeZone)].filter(({ field }) => !known.has(field));
  refuse([...faults, ...more]);
  const asked = (query.group_by ?? "").split(",").filter((name) => name !== "");
  const names = [...new Set(asked)] as (keyof typeof DIMENSIONS)[];
  const { groups, asOfMs } = await rpcAnswer(
    ports.messaging.getUsage(
      {
        ...{ tenantId, mode, timeZone },
        ...{ fromMs: BigInt(range.fromMs), toMs: BigInt(range.toMs) },
        groupBy: names.map((name) => DIMENSIONS[name]),
      },
      CALL,
    ),
  );
  return {
    status: 200,
    body: {
      data: {
        object: "usage",
        mode: modeName(mode),
        currency,
        created_after: formatInstant(range.fromMs),
        created_before: formatInstant(range.toMs),
        time_zone: timeZone,
        as_of: formatInstant(Number(asOfMs)),
        total: renderUsageTotal(groups),
        groups: groups.map((group) => renderUsageGroup(names, group)),
      },
    },
  };
}

function rangeOf(query: Query, nowMs: number) {
  const faults: FieldError[] = [];
  const add = (field: string, code: string, message: string) =>
    void faults.push({ field, code, message });
  const bound = (field: "created_after" | "created_before") => {
    const ms = parseBound(query[field] ?? "");
    const isWhole = ms !== undefined && ms % STEP_MS === 0;
    if (ms !== undefined && !isWhole) {
      add(field, "invalid_value", "It is no whole quarter hour, such as 10:15:00.");
    }
    return ms;
  };
  const toMs = bound("created_before") ?? nowMs - (nowMs % STEP_MS) + STEP_MS;
  const fromMs = bound("created_after") ?? toMs - DEFAULT_MS;
  if (toMs < fromMs) {
    add("created_before", "out_of_range", "created_before lies before created_after.");
  } else if (toMs - fromMs > SPAN_MAX_MS) {
    add("created_before", "range_too_large", "One request covers at most 92 days.");
  }
  return { range: { fromMs: Math.max(0, fromMs), toMs: Math.max(0, toMs) }, faults };
}

function zoneFaults(timeZone: string): FieldError[] {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return [];
  } catch {
    const message = "This is no time zone of the IANA database.";
    return [{ field: "time_zone", code: "invalid_value", message }];
  }
}
