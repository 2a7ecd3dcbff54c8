import { subscribe } from "../../services/shared/io/best-effort-pubsub.ts";
import type { Nats } from "../../services/shared/io/nats.ts";
import type { Authenticator } from "./authenticate.ts";

/** Removes cached callers when the tenant service publishes that they have changed. */
export function subscribeInvalidations({ connection }: Nats, authenticator: Authenticator): void {
  subscribe(connection, "invalidate.key.*", ({ subject }) => {
    authenticator.forgetKey(lastToken(subject));
  });
  subscribe(connection, "invalidate.tenant.*", ({ subject }) => {
    authenticator.forgetTenant(lastToken(subject));
  });
}

function lastToken(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}
