import { subscribe } from "../../services/shared/io/best-effort-pubsub.ts";
import type { Nats } from "../../services/shared/io/nats.ts";
import type { CallerCache } from "./caller-cache.ts";

/** Removes cached callers when the tenant service publishes that they have changed. */
export function subscribeInvalidations(
  { connection }: Nats,
  { keys, sessions }: { readonly keys: CallerCache; readonly sessions: CallerCache },
): void {
  subscribe(connection, "invalidate.key.*", ({ subject }) => keys.forget(lastToken(subject)));
  subscribe(connection, "invalidate.session.*", ({ subject }) => {
    sessions.forget(lastToken(subject));
  });
  subscribe(connection, "invalidate.tenant.*", ({ subject }) => {
    keys.forgetTenant(lastToken(subject));
    sessions.forgetTenant(lastToken(subject));
  });
}

function lastToken(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}
