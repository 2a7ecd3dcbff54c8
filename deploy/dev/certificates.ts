import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bits, boolean, element, integer, octets, oid, sequence, set, time, utf8 } from "./der.ts";

export type TlsFiles = {
  readonly caFile: string;
  readonly caKeyFile: string;
  readonly certFile: string;
  readonly keyFile: string;
};

const DAY_MS = 86_400_000;
const CA_NAME = "SMS development CA";
const ECDSA_WITH_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));

/** A development CA and its certificate for localhost. Creates missing ones and renews those about to expire. */
export function ensureCertificates(dir: string, now = new Date()): TlsFiles {
  const files: TlsFiles = {
    caFile: join(dir, "ca.pem"),
    caKeyFile: join(dir, "ca.key.pem"),
    certFile: join(dir, "localhost.pem"),
    keyFile: join(dir, "localhost.key.pem"),
  };
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!isGood(files.caFile, files.caKeyFile, now)) {
    const { publicKey, privateKey } = newKeys();
    writeFileSync(files.caFile, certificate({ publicKey, caKey: privateKey, now, days: 3650 }));
    writeKey(files.caKeyFile, privateKey);
    writeFileSync(files.certFile, "");
  }
  if (!isGood(files.certFile, files.keyFile, now)) {
    const caKey = createPrivateKey(readFileSync(files.caKeyFile));
    const { publicKey, privateKey } = newKeys();
    const hosts = ["localhost"];
    writeFileSync(files.certFile, certificate({ publicKey, caKey, now, days: 365, hosts }));
    writeKey(files.keyFile, privateKey);
  }
  return files;
}

/** A PEM certificate: of the CA itself without `hosts`, else of a server with those names and loopback addresses. */
export function certificate(about: {
  readonly publicKey: KeyObject;
  readonly caKey: KeyObject;
  readonly now: Date;
  readonly days: number;
  readonly hosts?: readonly string[];
}): string {
  const { publicKey, caKey, now, days, hosts } = about;
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const body = sequence(
    element(0xa0, integer(Buffer.of(2))),
    integer(serial),
    ECDSA_WITH_SHA256,
    name(CA_NAME),
    sequence(time(new Date(now.getTime() - DAY_MS)), time(new Date(now.getTime() + days * DAY_MS))),
    name(hosts?.[0] ?? CA_NAME),
    publicKey.export({ type: "spki", format: "der" }),
    element(0xa3, sequence(...extensions(publicKey, caKey, hosts))),
  );
  const der = sequence(body, ECDSA_WITH_SHA256, bits(sign("sha256", body, caKey)));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

/** The extensions of RFC 5280 section 4.2 that clients check. */
function extensions(
  publicKey: KeyObject,
  caKey: KeyObject,
  hosts: readonly string[] | undefined,
): Buffer[] {
  const keyIds = [
    extension("2.5.29.14", octets(keyId(publicKey))),
    extension("2.5.29.35", sequence(element(0x80, keyId(createPublicKey(caKey))))),
  ];
  if (hosts === undefined) {
    return [
      extension("2.5.29.19", sequence(boolean(true)), true),
      extension("2.5.29.15", bits(Buffer.of(0x06), 1), true),
      ...keyIds,
    ];
  }
  const loopback = [Buffer.of(127, 0, 0, 1), Buffer.from(`${"00".repeat(15)}01`, "hex")];
  return [
    extension("2.5.29.19", sequence(), true),
    extension("2.5.29.15", bits(Buffer.of(0x80), 7), true),
    extension("2.5.29.37", sequence(oid("1.3.6.1.5.5.7.3.1"))),
    extension(
      "2.5.29.17",
      sequence(
        ...hosts.map((host) => element(0x82, Buffer.from(host))),
        ...loopback.map((address) => element(0x87, address)),
      ),
    ),
    ...keyIds,
  ];
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));
}

function name(commonName: string): Buffer {
  return sequence(set(sequence(oid("2.5.4.3"), utf8(commonName))));
}

function keyId(key: KeyObject): Buffer {
  return createHash("sha1")
    .update(key.export({ type: "spki", format: "der" }))
    .digest();
}

function newKeys() {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function writeKey(file: string, key: KeyObject): void {
  writeFileSync(file, key.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
}

function isGood(certFile: string, keyFile: string, now: Date): boolean {
  if (!existsSync(certFile) || !existsSync(keyFile)) return false;
  try {
    const found = new X509Certificate(readFileSync(certFile));
    const daysLeft = (found.validToDate.getTime() - now.getTime()) / DAY_MS;
    return daysLeft > 30 && found.checkPrivateKey(createPrivateKey(readFileSync(keyFile)));
  } catch {
    return false;
  }
}
