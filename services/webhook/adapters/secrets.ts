import type { KeyObject } from "node:crypto";
import { signingKey } from "../../shared/core/webhook-signature.ts";
import { setRecent } from "../../shared/flow/lru.ts";
import type { SecretBox } from "../../shared/io/encryption.ts";
import type { Endpoint } from "../domain/endpoint.ts";

/** Signing secrets: encrypted when stored, cached as key objects. */
export type Secrets = {
  seal(endpointId: string, secret: string): string;
  openKey(endpoint: Endpoint, sealed: string): KeyObject;
};

/** Decrypted keys in the cache; the least recent are evicted first. */
const KEYS_MAX = 20_000;

/** An encrypted secret opens only for its own endpoint. */
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
