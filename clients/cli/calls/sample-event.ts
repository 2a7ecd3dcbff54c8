/** Samples of events, which the documentation of the API has. */
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import type { LocalEvent } from "./local-endpoint.ts";

type Document = {
  readonly components?: {
    readonly schemas: Readonly<Record<string, { readonly examples?: readonly LocalEvent[] }>>;
  };
};

/** A new event of a type, with the content of its sample. */
export async function sampleEvent(
  baseUrl: string,
  type: string,
  signal: AbortSignal,
): Promise<LocalEvent> {
  const document = await readDocument(`${baseUrl}/docs/openapi.json`, signal);
  const schemas = Object.values(document.components?.schemas ?? {});
  const examples = schemas.flatMap((schema) => schema.examples ?? []);
  // Other schemas have examples too, none with the type of an event.
  const found = examples.find((example) => example.type === type);
  if (found === undefined) throw new AppError("not_found", `There is no sample of ${type}.`);
  // A receiver that has handled the id before would rightly ignore it.
  return { ...found, ...{ created_at: new Date().toISOString(), id: newId("event") } };
}

async function readDocument(url: string, signal: AbortSignal): Promise<Document> {
  let response: Response;
  try {
    response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]) });
    if (response.ok) return (await response.json()) as Document;
  } catch (cause) {
    signal.throwIfAborted();
    throw new AppError("service_unavailable", `${url} cannot be read.`, { cause });
  }
  throw new AppError("not_found", `${url} has no samples: ${response.status}.`);
}
