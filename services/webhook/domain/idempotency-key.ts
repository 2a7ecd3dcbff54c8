import { AppError } from "../../shared/core/errors.ts";
import { KEY_FORM } from "../../shared/core/idempotency-key.ts";

const FINGERPRINT_BYTES = 32;

/**
 * Checks the idempotency key of a request (`docs/contract.md#idempotency`); an empty one means no
 * key. A key without a fingerprint would return one request's response to any other request. Throws
 * validation_error.
 */
export function checkIdempotencyKey(request: {
  readonly key: string;
  readonly fingerprint: Uint8Array;
}): void {
  if (request.key === "") return;
  if (!KEY_FORM.test(request.key)) {
    throw invalid("idempotency_key", "A key has 1 to 64 of A-Z, a-z, 0-9, _ and -.");
  }
  if (request.fingerprint.length !== FINGERPRINT_BYTES) {
    throw invalid("fingerprint", "A key needs the request's fingerprint: SHA-256, 32 bytes.");
  }
}

function invalid(field: string, message: string): AppError {
  return new AppError("validation_error", message, {
    fields: [{ field, code: "invalid_format", message }],
  });
}
