/** `GET /v1/events`: the events of an account, with the bodies that webhooks have. */
import { AppError } from "../../services/shared/core/errors.ts";
import { PAGE_DEFAULT } from "../../services/shared/core/limits.ts";
import type { WeightedSemaphore } from "../../services/shared/flow/weighted-semaphore.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { STATUS_CHANGED_EXAMPLE } from "../docs/content/event-samples.ts";
import { EVENT_CURSOR_EXAMPLE } from "../docs/content/samples.ts";
import { componentRef } from "../docs/operation-doc.ts";
import type { ReadShares } from "../load-shedding/read-shares.ts";
import { EVENT_LIST } from "../schemas/events.ts";
import { compileQuery } from "../schemas/query.ts";
import { refuse } from "../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "./operation.ts";
import { WEBHOOK_SCOPE, type Webhooks } from "./webhooks/webhook-operation.ts";

export type EventPorts = {
  readonly webhooks: Webhooks;
  /** Limits the requests that wait at once, in total and for each account. */
  readonly waits: WeightedSemaphore;
  /** Limits the pages that are read without waiting. */
  readonly reads: Pick<ReadShares, "page">;
  /** Aborted when this process ends. */
  readonly ending: AbortSignal;
};

/** Requests of one account that may wait at this gateway. */
export const EVENT_WAITS_PER_ACCOUNT = 5;

/** Requests of all accounts that may wait at this gateway: each holds a connection and a call. */
export const EVENT_WAITS_MAX = 64;

/** The time of the call in addition to its wait. */
const CALL_MS = 5000;

const readQuery = compileQuery(EVENT_LIST);

/** Reads events from a cursor on, and waits for the first (`docs/contract.md#event-list`). */
export function listEventsOperation(ports: EventPorts): Operation {
  return {
    method: "GET",
    path: "/v1/events",
    scope: WEBHOOK_SCOPE,
    isLongPoll: true,
    doc: {
      id: "listEvents",
      tag: "Events",
      summary: "Read events",
      description:
        "The events of the key's mode, oldest first, each with the body that webhooks have. Without `cursor` it " +
        "begins with the next event. Give `next_cursor` with the next request; it is never null, and a page may be " +
        "empty. With `wait` the answer comes with the first event, or empty after that time. Events are kept for 7 " +
        "days by default. `webhook.test` is only sent to its endpoint. At most 5 requests of an account wait at " +
        "once; another one answers 429.",
      query: EVENT_LIST,
      response: {
        status: 200,
        description: "One page.",
        schema: componentRef("EventPage"),
        example: { data: [STATUS_CHANGED_EXAMPLE], next_cursor: EVENT_CURSOR_EXAMPLE },
      },
      errors: ["validation_error"],
    },
    handle: (request) => list(ports, request),
  };
}

type Query = {
  readonly event_type?: readonly string[];
  readonly cursor?: string;
  readonly limit?: number;
  readonly wait?: number;
};

async function list(ports: EventPorts, request: OperationRequest): Promise<OperationResponse> {
  const { values, faults } = readQuery(request.query);
  refuse(faults);
  const { event_type = [], cursor = "", limit = PAGE_DEFAULT, wait = 0 } = values as Query;
  const { tenantId, mode } = request.caller;
  const asked = { tenantId, mode, eventTypes: [...new Set(event_type)], cursor, limit };
  const page =
    wait === 0
      ? await readNow(ports, asked)
      : await waitForEvents(ports, request, { ...asked, waitMs: wait * 1000 });
  const data = page.bodies.map((body) => JSON.parse(body) as unknown);
  return { status: 200, body: { data, next_cursor: page.cursor } };
}

type Asked = Parameters<Webhooks["readEvents"]>[0] & { readonly tenantId: string };

async function readNow({ webhooks, reads }: EventPorts, asked: Asked) {
  const release = await reads.page(asked.tenantId);
  try {
    return await rpcAnswer(webhooks.readEvents(asked));
  } finally {
    release();
  }
}

async function waitForEvents(
  { webhooks, waits, ending }: EventPorts,
  { caller, whenLeft }: OperationRequest,
  asked: Asked & { readonly waitMs: number },
) {
  const release = await waits.acquire(caller.tenantId, 1);
  if (release === undefined) {
    const text = `At most ${EVENT_WAITS_PER_ACCOUNT} requests of an account wait for events at once.`;
    throw new AppError("rate_limited", text, { retryAfterMs: 5000 });
  }
  try {
    const signal = AbortSignal.any([whenLeft(), ending]);
    const timeoutMs = asked.waitMs + CALL_MS;
    return await rpcAnswer(webhooks.readEvents(asked, { timeoutMs, signal }));
  } catch (error) {
    if (!ending.aborted) throw error;
    const text = "The service is restarting; try again shortly.";
    throw new AppError("service_unavailable", text, { cause: error });
  } finally {
    release();
  }
}
