/**
 * The context of the call being served: request id, tenant and trace of the current asynchronous path. Servers
 * enter it for each call; clients read it and pass it on.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { newId } from "../core/ids.ts";

/** The context that travels with every call, from the edge to the last service. */
export type CallContext = {
  /** `req_` + ULID, created at the edge. */
  readonly requestId: string;
  /** For logs and traces only; authorisation uses the tenant in the message. */
  readonly tenantId?: string | undefined;
  /** W3C Trace Context `traceparent`, passed on unchanged. */
  readonly traceparent?: string | undefined;
  /** The person on whose behalf the caller acts, and the address, as the caller states them. */
  readonly actorName?: string | undefined;
  readonly actorAddress?: string | undefined;
  /** The authenticated calling service, `in_process` in memory; absent without authentication. */
  readonly caller?: string | undefined;
  /** The method being served, `sms.v1.WalletService/GetWallet`. */
  readonly method?: string | undefined;
  /**
   * The caller's deadline, in milliseconds since the Unix epoch; it also limits calls made on its behalf.
   */
  readonly deadlineAtMs?: number | undefined;
  /**
   * Set once the handler has settled: later work no longer runs for the caller, and its deadline no longer
   * applies.
   */
  isSettled?: boolean;
};

/** Header names on the wire. */
export const CALL_HEADERS = {
  requestId: "x-request-id",
  tenantId: "x-tenant-id",
  traceparent: "traceparent",
  actorName: "x-actor",
  actorAddress: "x-actor-address",
} as const;

/** The fields of a context that travel as headers. */
export const CALL_FIELDS = Object.keys(CALL_HEADERS) as readonly (keyof typeof CALL_HEADERS)[];

const storage = new AsyncLocalStorage<CallContext>();

/** The current call, or undefined outside one. */
export function activeCall(): CallContext | undefined {
  return storage.getStore();
}

/** The current call; outside one, a new context with its own request id. */
export function currentCall(): CallContext {
  return storage.getStore() ?? { requestId: newId("request") };
}

/** The deadline for calls made here, in milliseconds since the Unix epoch; infinity for none. */
export function inheritedDeadlineMs(): number {
  const context = storage.getStore();
  if (context === undefined || context.isSettled === true) return Number.POSITIVE_INFINITY;
  return context.deadlineAtMs ?? Number.POSITIVE_INFINITY;
}

/** Runs a function, and everything it awaits, within a call. */
export function runInCall<T>(context: CallContext, run: () => T): T {
  return storage.run(context, run);
}

/** Runs a function for the person whom the request itself names, if it names one. */
export function runAsActor<T>(
  actor: { readonly name: string; readonly address: string } | undefined,
  run: () => T,
): T {
  if (actor === undefined || actor.name === "") return run();
  const [actorName, actorAddress] = [inHeader(actor.name), inHeader(actor.address)];
  return runInCall({ ...currentCall(), actorName, actorAddress }, run);
}

/** A text as a header can carry it; other characters are percent-encoded. */
function inHeader(text: string): string | undefined {
  const shown = ACTOR.test(text) ? text : encodeURI(text.toWellFormed()).slice(0, 128);
  return shown === "" ? undefined : shown;
}

const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
const TENANT_ID = /^[0-9A-Za-z_-]{1,64}$/;
/** Printable ASCII. */
const ACTOR = /^[\x20-\x7e]{1,128}$/;
/** A well-formed `traceparent` (W3C Trace Context section 3.2). */
export const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/**
 * Reads the context from a call's headers. Drops malformed values, because they would reach logs; creates a
 * missing request id. Traceparent per W3C Trace Context section 3.2.
 */
export function readCall(
  header: (name: string) => string | undefined,
  call: Pick<CallContext, "caller" | "method" | "deadlineAtMs"> = {},
): CallContext {
  function read(name: keyof typeof CALL_HEADERS, form: RegExp): string | undefined {
    const value = header(CALL_HEADERS[name]);
    return value !== undefined && form.test(value) ? value : undefined;
  }
  return {
    requestId: read("requestId", REQUEST_ID) ?? newId("request"),
    tenantId: read("tenantId", TENANT_ID),
    traceparent: read("traceparent", TRACEPARENT),
    actorName: read("actorName", ACTOR),
    actorAddress: read("actorAddress", ACTOR),
    ...call,
  };
}
