/** Certificates for mutual TLS in tests: one authority, a server on loopback, clients by name. */
import { type createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { certificate } from "../../deploy/dev/certificates.ts";
import { bits, integer, oid, sequence, set, time, utf8 } from "../../deploy/dev/der.ts";

/** PEM contents of a certificate and its key. */
export type Pair = { readonly cert: Buffer; readonly key: Buffer };

/** A certificate authority for tests. */
export type TestAuthority = {
  readonly ca: Buffer;
  readonly server: () => Pair;
  readonly client: (commonName: string) => Pair;
};

const ECDSA_WITH_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));
const HOUR_MS = 3_600_000;

/** Creates an authority with a new key. */
export function createTestAuthority(): TestAuthority {
  const now = new Date();
  const { publicKey, privateKey: caKey } = newKeys();
  return {
    ca: Buffer.from(certificate({ publicKey, caKey, now, days: 1 })),
    server() {
      const keys = newKeys();
      const about = { publicKey: keys.publicKey, caKey, now, days: 1, hosts: ["localhost"] };
      return { cert: Buffer.from(certificate(about)), key: pem(keys.privateKey) };
    },
    client(commonName) {
      const keys = newKeys();
      // A version 1 certificate (RFC 5280 section 4.1.2.1): no extensions limit its use.
      const body = sequence(
        integer(Buffer.concat([Buffer.of(0x40), randomBytes(8)])),
        ECDSA_WITH_SHA256,
        name("SMS development CA"),
        sequence(time(new Date(now.getTime() - HOUR_MS)), time(new Date(now.getTime() + HOUR_MS))),
        name(commonName),
        keys.publicKey.export({ type: "spki", format: "der" }),
      );
      const der = sequence(body, ECDSA_WITH_SHA256, bits(sign("sha256", body, caKey)));
      const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
      const text = ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""];
      return { cert: Buffer.from(text.join("\n")), key: pem(keys.privateKey) };
    },
  };
}

function name(commonName: string): Buffer {
  return sequence(set(sequence(oid("2.5.4.3"), utf8(commonName))));
}

function newKeys() {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function pem(key: ReturnType<typeof createPrivateKey>): Buffer {
  return Buffer.from(key.export({ type: "pkcs8", format: "pem" }));
}
