import type { Caller, CallOptions, RequestParts } from "../call.ts";
import type { OperationId } from "../generated/operations.ts";
import type { DataOf } from "../operation-types.ts";

/** Executes an operation and returns its `data`. */
export async function fetchData<Id extends OperationId>(
  call: Caller,
  operation: Id,
  parts: RequestParts,
  options: CallOptions,
): Promise<DataOf<Id>> {
  const { text } = await call(operation, parts, options);
  return (JSON.parse(text) as { data: DataOf<Id> }).data;
}

/** A CSV file as a text, as bytes or as a file of a browser's form; at most 4 MiB. */
export type CsvFile = string | Uint8Array<ArrayBuffer> | Blob;
