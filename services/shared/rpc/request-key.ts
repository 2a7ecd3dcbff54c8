/** The idempotency key of an internal request. */
import type { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { fingerprint } from "../core/canonical-json.ts";
import { KEY_FORM } from "../core/idempotency-key.ts";
import { invalidField } from "../core/limits.ts";
import type { RequestKey } from "../core/run-once.ts";

/** A request with an idempotency key, or an empty one. */
type Keyed = {
  readonly tenantId: string;
  readonly mode?: Mode;
  readonly idempotencyKey: string;
  readonly fingerprint: Uint8Array;
};

/** The scope and the fingerprint of a request's key, undefined without one; a malformed one is `validation_error`. */
export function readRequestKey(request: Keyed, operation: string): RequestKey | undefined {
  const { tenantId, mode = "", idempotencyKey } = request;
  if (idempotencyKey === "") return undefined;
  checkRequestKey(idempotencyKey, request.fingerprint);
  const scope = `${tenantId}|${mode}|${operation}|${idempotencyKey}`;
  return { scope, fingerprint: request.fingerprint };
}

/** Checks the form of a key and its fingerprint. */
export function checkRequestKey(key: string, print: Uint8Array): void {
  if (key === "") return;
  if (!KEY_FORM.test(key)) {
    throw invalidField(
      "idempotency_key",
      "invalid_format",
      "has 1 to 64 of A-Z, a-z, 0-9, _ and -",
    );
  }
  if (print.length !== fingerprint().length) {
    throw invalidField("fingerprint", "invalid_format", "is SHA-256, 32 bytes");
  }
}
