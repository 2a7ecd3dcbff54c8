/** Common parts of the console's own routes: admission of callers, and reading of bodies. */
import type { Client } from "@connectrpc/connect";
import type { Context } from "koa";
import type { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { runInCall } from "../../services/shared/rpc/call-context.ts";
import { isFromConsole } from "../../services/shared/web/same-origin.ts";
import { type AdmissionParts, addressOf, charge, identify } from "../auth/admission.ts";
import { actorName, type Caller } from "../auth/caller.ts";
import { networkOf } from "../auth/caller-address.ts";
import { type BodyLimits, readBody } from "../http/body.ts";
import type { RequestState } from "../http/request-state.ts";
import { parseBody } from "../schemas/parse-body.ts";
import { object, type Schema } from "../schemas/schema-parts.ts";
import { compileSchema, refuse, type Validator } from "../schemas/validate.ts";

/** One route: it sets status and body. */
export type ConsoleRoute = (parts: ConsoleParts, context: Context) => Promise<void>;

export type ConsoleParts = AdmissionParts & {
  readonly tenants: Client<typeof TenantService>;
  readonly bodyLimits: BodyLimits;
  /** The public origin of this gateway; empty when only the `Host` header names it. */
  readonly ownOrigin: string;
};

const BODY_BYTES_MAX = 4096;
/** Requests without a session, by network: one a second, twenty at once. */
const WITHOUT_SESSION = { rate: 1, burst: 20, cost: 1 } as const;

/** A body with the required members, any of the optional ones, and no others. */
export function compileBody(
  required: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Validator {
  const properties = { ...required, ...optional };
  return compileSchema({ ...object(required), properties, additionalProperties: false });
}

/** Admits a request without a session: from the console's own pages, and within the rate of its network. */
export async function admitWithoutSession(parts: ConsoleParts, context: Context): Promise<string> {
  if (!isFromConsole(context.method, context.req.headers, parts.ownOrigin)) {
    throw new AppError("origin_not_allowed", "Sign in on the console's own pages.");
  }
  return limitByNetwork(parts, context);
}

/** Throws `rate_limited` for too many requests of one address without a session; returns the address. */
export async function limitByNetwork(parts: ConsoleParts, context: Context): Promise<string> {
  const address = addressOf(parts, context);
  const bucket = `console ${networkOf(address)}`;
  const { isAllowed, retryAfterMs } = await parts.rateLimiter.take(bucket, WITHOUT_SESSION);
  if (!isAllowed) {
    throw new AppError("rate_limited", "Too many requests; wait a little.", { retryAfterMs });
  }
  return address;
}

/** The validated body; throws `validation_error`. */
export async function readJson(
  { bodyLimits }: ConsoleParts,
  context: Context,
  validate: Validator,
): Promise<Record<string, unknown>> {
  const state = context.state as RequestState;
  const bytes = await readBody(
    context.req,
    context.res,
    { ...bodyLimits, bytesMax: BODY_BYTES_MAX },
    {
      onReserve: (reservation) => {
        state.bodyReservation = reservation;
      },
      takesCsv: false,
      admitLarge: async () => false,
    },
  );
  const { body, faults } = parseBody(bytes, validate);
  refuse(faults);
  return body ?? {};
}

/** A caller in the console; throws `unauthenticated` for an API key. */
export async function admitPerson(parts: ConsoleParts, context: Context) {
  const caller = await identify(parts, context);
  await charge(parts, context, caller, 0);
  if (caller.session === undefined) {
    throw new AppError("unauthenticated", "Only a console session has this.");
  }
  return { caller, session: caller.session };
}

/** Calls the service in the name of the person. */
export function asPerson<T>(context: Context, caller: Caller, run: () => Promise<T>): Promise<T> {
  const { requestId, address = "" } = context.state as RequestState;
  const actor = { actorName: actorName(caller), actorAddress: address };
  return runInCall({ requestId, tenantId: caller.tenantId, ...actor }, run);
}
