import type { FieldError } from "../../services/shared/core/errors.ts";
import { KEY_FORM } from "../../services/shared/core/idempotency-key.ts";

/** Parses the `Idempotency-Key` header: the key, or an empty key when absent or malformed, with the faults. */
export function readIdempotencyKey(header: string | undefined): {
  readonly key: string;
  readonly faults: readonly FieldError[];
} {
  if (header === undefined) return { key: "", faults: [] };
  if (KEY_FORM.test(header)) return { key: header, faults: [] };
  const message = "The key must have 1 to 64 characters: letters from A to Z, digits, _ and -.";
  return { key: "", faults: [{ field: "Idempotency-Key", code: "invalid_format", message }] };
}
