import { newId } from "../../services/shared/core/ids.ts";
import { createEndpoint, type Endpoint } from "../../services/webhook/domain/endpoint.ts";

/** A new live endpoint with defaults, created at an instant. */
export function sampleEndpoint(
  nowMs: number,
  about: Partial<Parameters<typeof createEndpoint>[0]> = {},
): Endpoint {
  return createEndpoint(
    {
      id: newId("webhookEndpoint"),
      tenantId: newId("tenant"),
      mode: "live",
      url: "https://example.com/",
      eventTypes: [],
      sources: [],
      description: "",
      sealedSecret: "sealed",
      ...about,
    },
    nowMs,
  );
}
