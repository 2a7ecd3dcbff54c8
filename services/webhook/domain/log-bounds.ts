/** What bounds a part of the delivery log, as callers give it. */
import { AppError } from "../../shared/core/errors.ts";
import { ID_TIME_MAX_MS, isId } from "../../shared/core/ids.ts";

/** The delivery before which a page begins; empty for the first page. Throws validation_error. */
export function readBeforeId(text: string): string {
  if (text === "" || isId("webhookDelivery", text)) return text;
  // To begin anew would show the caller for ever what it has seen.
  throw invalid("before_id", "invalid_value", "This is no id of a delivery.");
}

/** An instant in milliseconds, of either sign. Throws validation_error beyond what ids can hold. */
export function readInstantMs(field: string, instantMs: bigint): number {
  if (instantMs >= -ID_TIME_MAX_MS && instantMs <= ID_TIME_MAX_MS) return Number(instantMs);
  throw invalid(field, "out_of_range", "This instant is too far away.");
}

function invalid(field: string, code: string, message: string): AppError {
  return new AppError("validation_error", `The field ${field} is not valid.`, {
    fields: [{ field, code, message }],
  });
}
