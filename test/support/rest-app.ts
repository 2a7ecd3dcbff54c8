/**
 * The whole gateway on a real HTTP server, with ports in memory instead of the services.
 */
import { createServer } from "node:http";
import { connect } from "node:net";
import { create } from "@bufbuild/protobuf";
import { pino } from "pino";
import { createApp } from "../../gateway/app.ts";
import type { Caller } from "../../gateway/auth/caller.ts";
import { createPages } from "../../gateway/docs/pages.ts";
import { createBodyBudget } from "../../gateway/http/body-budget.ts";
import { createConnectionShares } from "../../gateway/http/connection-shares.ts";
import { createCors } from "../../gateway/http/cors.ts";
import type { FinishedRequest } from "../../gateway/http/finished-request.ts";
import { createLargeBodies } from "../../gateway/http/large-bodies.ts";
import { createResponseBudget } from "../../gateway/http/response-budget.ts";
import { listen, SERVER_OPTIONS } from "../../gateway/http/server.ts";
import { createCursors } from "../../gateway/lists/cursor.ts";
import { createFast503 } from "../../gateway/load-shedding/fast-503.ts";
import { createLoadLimiter } from "../../gateway/load-shedding/load-limiter.ts";
import { createReadShares } from "../../gateway/load-shedding/read-shares.ts";
import { createOperations, type OperationPorts } from "../../gateway/operations/all.ts";
import type { Operation } from "../../gateway/operations/operation.ts";
import type { RateLimiter } from "../../gateway/rate-limit/limiter.ts";
import type { RateDecision } from "../../gateway/rate-limit/token-bucket.ts";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import {
  MessageSchema,
  MessageStatus,
  SendMessagesResponseSchema,
} from "../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { newId } from "../../services/shared/core/ids.ts";
import { createWeightedSemaphore } from "../../services/shared/flow/weighted-semaphore.ts";
import { createMemoryKeyLocks } from "./memory-key-locks.ts";
import { createMemoryTestQuota } from "./memory-test-quota.ts";

/** Settings of one test's gateway. */
export type RestAppOptions = {
  readonly caller?: Partial<Caller>;
  readonly ports?: Partial<OperationPorts>;
  readonly decision?: RateDecision;
  readonly corsOrigins?: readonly string[];
  readonly bodyBounds?: Parameters<typeof createBodyBudget>[0];
  readonly perAddressMax?: number;
  readonly isExempt?: (address: string) => boolean;
  readonly bodyTimeoutMs?: number;
  readonly responseBounds?: Parameters<typeof createResponseBudget>[0];
  readonly requestsMax?: number;
  readonly serverOptions?: Partial<typeof SERVER_OPTIONS>;
  readonly keepsDeprecatedPath?: boolean;
  readonly extraOperations?: readonly Operation[];
  readonly rateLimiter?: RateLimiter;
  readonly onFinish?: (request: FinishedRequest) => void;
  readonly onRefused?: (method: string, path: string) => void;
};

/** A running gateway. */
export type RestApp = {
  readonly port: number;
  readonly url: string;
  /** Finished requests, in order. */
  readonly finished: FinishedRequest[];
  close(): Promise<void>;
  /** Closes like a process on SIGTERM: no request is dropped. */
  drain(): Promise<void>;
};

/** The address of the documentation in these tests. */
export const DOCS_URL = "https://docs.example.com";

/** The only valid key. */
export const API_KEY = `sk_live_${"k".repeat(43)}`;

const CALLER: Caller = {
  keyId: "key_00000000000000000000000000",
  tenantId: "ten_00000000000000000000000000",
  mode: Mode.LIVE,
  scopes: new Set([
    "messages:send",
    "messages:read",
    "balance:read",
    "sender_ids:read",
    "webhooks:manage",
  ]),
  allowsAddress: () => true,
  isSuspended: false,
  isEmailVerified: true,
  rateLimit: 50,
  burst: 100,
  bulkMax: 1000,
  currency: "NGN",
};

/** Starts the gateway on a free port of 127.0.0.1. */
export async function openRestApp(options: RestAppOptions = {}): Promise<RestApp> {
  const caller = { ...CALLER, ...options.caller };
  const operations = [
    ...createOperations(memoryPorts(options.ports), options.keepsDeprecatedPath ?? true),
    ...(options.extraOperations ?? []),
  ];
  const finished: FinishedRequest[] = [];
  const loadLimiter = createLoadLimiter({
    requestsMax: options.requestsMax ?? 1000,
    delayMaxMs: 60_000,
    lagMaxMs: 60_000,
  });
  const connections = createConnectionShares(
    options.perAddressMax ?? Number.POSITIVE_INFINITY,
    options.isExempt ?? (() => false),
  );
  const responses = createResponseBudget(options.responseBounds);
  const app = createApp({
    operations,
    pages: createPages(operations, { baseUrl: "/", docsUrl: DOCS_URL }),
    console: (_context, next) => next(),
    cors: createCors(options.corsOrigins ?? []),
    loadLimiter,
    authenticator: {
      async authenticate({ authorization }) {
        if (authorization === `Bearer ${API_KEY}`) return caller;
        throw new AppError("unauthenticated", "Give a valid API key as a bearer token.");
      },
    },
    rateLimiter: options.rateLimiter ?? {
      take: async () =>
        options.decision ?? { isAllowed: true, remaining: 99, resetS: 1, retryAfterMs: 0 },
    },
    isTrustedProxy: () => false,
    connections,
    docsUrl: DOCS_URL,
    log: pino({ level: "silent" }),
    bodyLimits: {
      bytesMax: 4_194_304,
      timeoutMs: options.bodyTimeoutMs ?? 5000,
      budget: createBodyBudget(options.bodyBounds),
    },
    largeBodies: createLargeBodies(),
    reads: createReadShares(),
    responses,
    onFinish: options.onFinish ?? ((request) => void finished.push(request)),
  });
  const server = createServer({ ...SERVER_OPTIONS, ...options.serverOptions });
  server.on("connection", connections.add);
  const http = await listen(server, {
    host: "127.0.0.1",
    port: 0,
    docsUrl: DOCS_URL,
    fast503: createFast503({
      loadLimiter,
      operations,
      docsUrl: DOCS_URL,
      variesByOrigin: (options.corsOrigins ?? []).length > 0,
      log: pino({ level: "silent" }),
      onRefused: options.onRefused ?? (() => undefined),
    }),
    handle: app.callback(),
    responses,
    remainingCapacity: loadLimiter.remainingCapacity,
    leaveMs: 200,
    onError: () => undefined,
  });
  return {
    port: http.port,
    url: `http://127.0.0.1:${http.port}`,
    finished,
    drain: () => http.close(),
    async close() {
      loadLimiter.close();
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Ports that accept every send as one queued message; all other resources are unknown. */
export function memoryPorts(changes: Partial<OperationPorts> = {}): OperationPorts {
  const messaging = {
    sendMessages: async () =>
      create(SendMessagesResponseSchema, {
        message: create(MessageSchema, {
          id: newId("message"),
          status: MessageStatus.QUEUED,
          createdAtMs: 1_780_000_000_000n,
          updatedAtMs: 1_780_000_000_000n,
        }),
      }),
    lookupSend: async () => ({ response: undefined }),
    getMessage: noMessage,
    cancelMessage: noMessage,
  };
  const nothing = {} as never;
  const chosen = changes.messaging ?? (messaging as unknown as OperationPorts["messaging"]);
  return {
    messaging: chosen,
    sendOne: (_tenantId, request) => chosen.sendMessages(request),
    wallets: nothing,
    senderIds: nothing,
    tenants: nothing,
    webhooks: nothing,
    campaigns: nothing,
    consent: nothing,
    keyLocks: createMemoryKeyLocks(),
    testQuota: createMemoryTestQuota(10_000),
    cursors: createCursors("a key of tests"),
    clock: { now: () => Date.now() },
    sendTime: { minMs: 60_000, maxMs: 7_776_000_000 },
    spanMaxMs: 7_948_800_000,
    exports: createWeightedSemaphore({ totalMax: 8, keyMax: 1, waitersMax: 1, waitMaxMs: 1000 }),
    waits: createWeightedSemaphore({ totalMax: 8, keyMax: 5, waitersMax: 0, waitMaxMs: 0 }),
    reads: createReadShares(),
    ending: new AbortController().signal,
    ...changes,
  };
}

async function noMessage(): Promise<never> {
  throw new AppError("not_found", "There is no such message.");
}

/** A response on a raw connection. */
export type RawAnswer = { readonly status: number; readonly head: string; readonly body: string };

/**
 * Writes bytes to a new connection and collects responses until the server closes it, or until there are `count`.
 * `write` may continue while responses arrive.
 */
export function exchange(
  port: number,
  write: (send: (bytes: string | Uint8Array) => void) => void | Promise<void>,
  options: { readonly count?: number; readonly timeoutMs?: number } = {},
): Promise<{ answers: RawAnswer[]; ended: boolean }> {
  const { count = Number.POSITIVE_INFINITY, timeoutMs = 10_000 } = options;
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const timer = setTimeout(() => finish(false), timeoutMs);
    const finish = (ended: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ answers: parseAnswers(text), ended });
    };
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
      if (parseAnswers(text).length >= count) finish(false);
    });
    socket.on("end", () => finish(true));
    socket.on("close", () => finish(true));
    socket.on("error", () => finish(true));
    socket.once("connect", () => {
      Promise.resolve(write((bytes) => void socket.write(bytes))).catch(reject);
    });
  });
}

function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return answers;
    const head = rest.slice(0, end);
    const status = Number(head.slice(9, 12));
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    if (rest.length < end + 4 + length) return answers;
    const body = rest.slice(end + 4, end + 4 + length);
    if (status !== 100) answers.push({ status, head, body });
    rest = rest.slice(end + 4 + length);
  }
}
