/** Checks the bounds of a page of the delivery log. */
import { ID_TIME_MAX_MS, isId } from "../../shared/core/ids.ts";
import { invalidField } from "../../shared/core/limits.ts";

/** The delivery before which a page starts; empty for the first page. Throws validation_error. */
export function readBeforeId(text: string): string {
  if (text === "" || isId("webhookDelivery", text)) return text;
  // Starting again from the first page would show the caller the same deliveries for ever.
  throw invalidField("before_id", "invalid_value", "This is no id of a delivery.");
}

/** An instant in milliseconds, of either sign. Throws validation_error beyond the range of ids. */
export function readInstantMs(field: string, instantMs: bigint): number {
  if (instantMs >= -ID_TIME_MAX_MS && instantMs <= ID_TIME_MAX_MS) return Number(instantMs);
  throw invalidField(field, "out_of_range", "This instant is too far away.");
}
