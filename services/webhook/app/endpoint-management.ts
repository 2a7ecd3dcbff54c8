/** How owners manage their endpoints. Each use case: load, decide, save. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import type { Logger } from "../../shared/core/logger.ts";
import type { MessageSourceName } from "../../shared/core/message-source.ts";
import { answerWithin } from "../../shared/flow/backoff.ts";
import {
  type ChangedEndpoint,
  changeEndpoint,
  createEndpoint,
  ENDPOINTS_MAX,
  type Endpoint,
  type EndpointChange,
  type EndpointKey,
  type EndpointMode,
  rotateSecret,
} from "../domain/endpoint.ts";
import type { DeliveryQueue, EndpointStopper, EndpointStore } from "./ports.ts";

/** An endpoint with its secret, which is shown once. */
export type WithSecret = { readonly endpoint: Endpoint; readonly secret: string };

/**
 * Runs the effect at most once per idempotency key, and returns the first response. `Session` is a
 * database transaction, opaque here.
 */
export type RunOnce<Session, Made, Answer> = (
  effect: (session: Session) => Promise<Made>,
) => Promise<Answer>;

/** Dependencies of these use cases. */
export type EndpointParts<Session> = {
  readonly clock: Clock;
  readonly store: EndpointStore & {
    insert(endpoint: Endpoint, session: Session): Promise<boolean>;
    saveWithin(changed: ChangedEndpoint, session: Session): Promise<boolean>;
    getWithin(key: EndpointKey, session: Session): Promise<Endpoint | undefined>;
  };
  readonly queue: Pick<DeliveryQueue, "dropWaiting">;
  readonly log: Logger;
  readonly stopper: EndpointStopper;
  /** Rejects when the URL breaks a rule or its addresses are not allowed. */
  readonly checkUrl: (url: string) => Promise<void>;
  readonly newSecret: () => string;
  readonly sealSecret: (endpointId: string, secret: string) => string;
};

/** Attempts to save when other requests change the endpoint between load and save. */
const SAVE_ATTEMPTS = 10;

/** Creates an endpoint. Throws validation_error (field `url`, or code `too_many` for a sixth). */
export async function addEndpoint<S, Answer>(
  parts: EndpointParts<S>,
  request: {
    readonly tenantId: string;
    readonly mode: EndpointMode;
    readonly url: string;
    readonly eventTypes: readonly string[];
    readonly sources: readonly MessageSourceName[];
    readonly description: string;
  },
  runOnce: RunOnce<S, WithSecret, Answer>,
): Promise<Answer> {
  await parts.checkUrl(request.url);
  const id = newId("webhookEndpoint");
  const secret = parts.newSecret();
  const sealedSecret = parts.sealSecret(id, secret);
  const endpoint = createEndpoint({ ...request, id, sealedSecret }, parts.clock.now());
  return runOnce(async (session) => {
    if (await parts.store.insert(endpoint, session)) return { endpoint, secret };
    const message = `There are at most ${ENDPOINTS_MAX} endpoints.`;
    throw new AppError("validation_error", message, {
      fields: [{ field: "", code: "too_many", message }],
    });
  });
}

/** Throws not_found. */
export async function getEndpoint<S>(parts: EndpointParts<S>, key: EndpointKey): Promise<Endpoint> {
  return (await parts.store.get(key)) ?? notFound();
}

/** Throws not_found and validation_error. Disabling drops the pending deliveries. */
export async function updateEndpoint<S>(
  parts: EndpointParts<S>,
  key: EndpointKey,
  change: EndpointChange,
): Promise<Endpoint> {
  if (change.url !== undefined) {
    await getEndpoint(parts, key);
    await parts.checkUrl(change.url);
  }
  for (let attempt = 0; attempt < SAVE_ATTEMPTS; attempt += 1) {
    const endpoint = await getEndpoint(parts, key);
    const changed = changeEndpoint(endpoint, change, parts.clock.now());
    if (!(await parts.store.save(changed))) continue;
    if (changed.status === "disabled") await stopSending(parts, changed.id, changed.updatedAtMs);
    return changed;
  }
  throw new AppError("conflict", "The endpoint is being changed by others; try again.");
}

/** Also drops the pending deliveries. Throws not_found. */
export async function deleteEndpoint<S>(parts: EndpointParts<S>, key: EndpointKey): Promise<void> {
  if (!(await parts.store.delete(key))) notFound();
  await stopSending(parts, key.endpointId);
}

/** Dropping a million deliveries takes longer than the caller waits. */
const DROP_WAIT_MS = 2000;

/**
 * Stops the requests that have not left, then drops the pending deliveries. A delivery that is not
 * dropped here, because of an outage, is dropped when it is claimed: the endpoint is saved as disabled.
 */
async function stopSending<S>(
  parts: EndpointParts<S>,
  endpointId: string,
  disabledAtMs?: number,
): Promise<void> {
  parts.stopper.stop(endpointId);
  const dropped = parts.queue
    .dropWaiting(endpointId, parts.clock.now(), disabledAtMs)
    .catch((error: unknown) => {
      parts.log.warn(
        { error, endpointId },
        "pending deliveries of a stopped endpoint are dropped later",
      );
    });
  await answerWithin(dropped, DROP_WAIT_MS);
}

/** Adds a new secret; the secret before it keeps signing for a day. Throws not_found. */
export function rotateEndpointSecret<S, Answer>(
  parts: EndpointParts<S>,
  key: EndpointKey,
  runOnce: RunOnce<S, WithSecret, Answer>,
): Promise<Answer> {
  const secret = parts.newSecret();
  return runOnce(async (session) => {
    const found = await parts.store.getWithin(key, session);
    if (found === undefined) return notFound();
    const sealed = parts.sealSecret(found.id, secret);
    const endpoint = rotateSecret(found, sealed, parts.clock.now());
    if (!(await parts.store.saveWithin(endpoint, session))) {
      throw new AppError("conflict", "The endpoint is being changed by others; try again.");
    }
    return { endpoint, secret };
  });
}

/** The one error for an endpoint that is missing, malformed, of another tenant or another mode. */
export function notFound(): never {
  throw new AppError("not_found", "There is no such webhook endpoint.");
}
