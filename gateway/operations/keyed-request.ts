/** Requests with an idempotency key to services that store the answers themselves. */
import { fingerprint } from "../../services/shared/core/canonical-json.ts";
import type { FieldError } from "../../services/shared/core/errors.ts";
import { readIdempotencyKey } from "../idempotency/key.ts";
import { parseBody } from "../schemas/parse-body.ts";
import { queryFaults } from "../schemas/query.ts";
import { refuse, type Validator } from "../schemas/validate.ts";
import type { OperationRequest, OperationResponse } from "./operation.ts";

/** An idempotency key and the fingerprint of its request; both empty without a key. */
export type Keyed = { readonly idempotencyKey: string; readonly fingerprint: Buffer };

/** Parses the body and the idempotency key; throws all faults together, with those of `moreFaults`. */
export function readKeyedRequest(
  request: OperationRequest,
  validate: Validator,
  moreFaults: (body: Readonly<Record<string, unknown>>) => readonly FieldError[] = () => [],
): { readonly body: Readonly<Record<string, unknown>>; readonly keyed: Keyed } {
  const { key, faults } = readIdempotencyKey(request.idempotencyKey);
  const read = parseBody(request.bodyBytes, validate);
  const body = read.body ?? {};
  const ofBody = read.faults.length > 0 ? read.faults : moreFaults(body);
  refuse([...queryFaults(request.query), ...faults, ...ofBody]);
  const print = key === "" ? Buffer.alloc(0) : fingerprint(body);
  return { body, keyed: { idempotencyKey: key, fingerprint: print } };
}

/** A response, with `Idempotent-Replayed` when it is the stored first one. */
export function keyedResponse(
  status: number,
  data: unknown,
  replayed: boolean,
  headers: Readonly<Record<string, string>> = {},
): OperationResponse {
  const more = replayed ? { "Idempotent-Replayed": "true" } : {};
  return { status, body: { data }, headers: { ...headers, ...more } };
}
