import type { Nats } from "../../services/shared/io/nats.ts";
import type { Authenticator } from "./authenticate.ts";

/**
 * Forgets cached callers as soon as the tenant service says that they have changed. Where the server refuses
 * a subscription, that is called back as an error without a message, here and wherever hints are heard.
 */
export function watchInvalidations(nats: Nats, authenticator: Authenticator): void {
  nats.connection.subscribe("invalidate.key.*", {
    callback(error, { subject }) {
      if (error === null) authenticator.forgetKey(lastToken(subject));
    },
  });
  nats.connection.subscribe("invalidate.tenant.*", {
    callback(error, { subject }) {
      if (error === null) authenticator.forgetTenant(lastToken(subject));
    },
  });
}

function lastToken(subject: string): string {
  return subject.slice(subject.lastIndexOf(".") + 1);
}
