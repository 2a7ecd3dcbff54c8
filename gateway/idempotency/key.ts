import type { FieldError } from "../../services/shared/core/errors.ts";

const KEY = /^[A-Za-z0-9_-]{1,64}$/;

/** The `Idempotency-Key` header: empty when absent, and its fault when malformed. */
export function readIdempotencyKey(header: string | undefined): {
  readonly key: string;
  readonly faults: readonly FieldError[];
} {
  if (header === undefined) return { key: "", faults: [] };
  if (KEY.test(header)) return { key: header, faults: [] };
  const message = "An Idempotency-Key has 1 to 64 of A-Z, a-z, 0-9, _ and -.";
  return { key: "", faults: [{ field: "Idempotency-Key", code: "invalid_format", message }] };
}
