import type { Nats } from "../../services/shared/io/nats.ts";
import type { Authenticator } from "./authenticate.ts";

/** Forgets cached callers as soon as the tenant service says that they have changed. */
export function watchInvalidations(nats: Nats, authenticator: Authenticator): void {
  nats.connection.subscribe("invalidate.key.*", {
    callback: (_error, message) => authenticator.forgetKey(lastToken(message.subject)),
  });
  nats.connection.subscribe("invalidate.tenant.*", {
    callback: (_error, message) => authenticator.forgetTenant(lastToken(message.subject)),
  });
}

function lastToken(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}
