import type { KeyObject } from "node:crypto";
import { signingKey } from "../../shared/core/webhook-signature.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import type { SecretBox } from "../../shared/io/encryption.ts";
import type { Endpoint } from "../domain/endpoint.ts";

/** Signing secrets, sealed at rest; opened ones are kept as key objects. */
export type Secrets = {
  seal(endpointId: string, secret: string): string;
  openKey(endpoint: Endpoint, sealed: string): KeyObject;
};

/** Opened keys kept in memory; the least recently opened goes first. */
const KEYS_MAX = 20_000;

/** Makes the secrets' keeper. A sealed text opens only for the endpoint that it was sealed for. */
export function createSecrets(box: SecretBox): Secrets {
  const keys = new Map<string, KeyObject>();
  const contextOf = (endpointId: string) => `webhook endpoint|${endpointId}`;

  return {
    seal: (endpointId, secret) => box.seal(secret, contextOf(endpointId)),
    openKey(endpoint, sealed) {
      const name = `${endpoint.id}|${sealed}`;
      const known = keys.get(name);
      if (known !== undefined) return known;
      const key = signingKey(box.open(sealed, contextOf(endpoint.id)));
      setRecent(keys, name, key, KEYS_MAX);
      return key;
    },
  };
}
