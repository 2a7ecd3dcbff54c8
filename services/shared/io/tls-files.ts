import { readFileSync } from "node:fs";
import { ConfigError } from "./config.ts";

/** PEM files for a connection to a server outside: its authority, and a certificate to show. */
export type TlsFiles = {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
};

/** Settings that name the files, spelt out: `make up` hands on what it finds in the sources. */
const NAMES = {
  MONGODB: {
    ca: "MONGODB_TLS_CA_FILE",
    cert: "MONGODB_TLS_CERT_FILE",
    key: "MONGODB_TLS_KEY_FILE",
  },
  NATS: { ca: "NATS_TLS_CA_FILE", cert: "NATS_TLS_CERT_FILE", key: "NATS_TLS_KEY_FILE" },
  REDIS: { ca: "REDIS_TLS_CA_FILE", cert: "REDIS_TLS_CERT_FILE", key: "REDIS_TLS_KEY_FILE" },
} as const;

/**
 * Reads the settings that name a server's TLS files; nothing when none is set. Throws `ConfigError` when only
 * one of certificate and key is.
 */
export function tlsFilesOf(
  env: NodeJS.ProcessEnv,
  server: keyof typeof NAMES,
): TlsFiles | undefined {
  const names = NAMES[server];
  const of = (name: string) => env[name] || undefined;
  const [caFile, certFile, keyFile] = [of(names.ca), of(names.cert), of(names.key)];
  if (caFile === undefined && certFile === undefined && keyFile === undefined) return undefined;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new ConfigError([`${names.cert} and ${names.key} belong together`]);
  }
  return {
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
}

/** The servers whose TLS files settings name. */
export const TLS_SERVERS = Object.keys(NAMES) as (keyof typeof NAMES)[];

/**
 * The files of mutual TLS between the services; nothing when none is set. Throws `ConfigError` when some are missing:
 * half of it would be none, and everything would go in clear.
 */
export function rpcTlsFilesOf(env: {
  readonly RPC_TLS_CERT_FILE?: string;
  readonly RPC_TLS_KEY_FILE?: string;
  readonly RPC_TLS_CA_FILE?: string;
}): Required<TlsFiles> | undefined {
  const { RPC_TLS_CERT_FILE: certFile, RPC_TLS_KEY_FILE: keyFile, RPC_TLS_CA_FILE: caFile } = env;
  if (certFile && keyFile && caFile) return { certFile, keyFile, caFile };
  if (!(certFile || keyFile || caFile)) return undefined;
  throw new ConfigError(["RPC_TLS_CERT_FILE, RPC_TLS_KEY_FILE and RPC_TLS_CA_FILE go together"]);
}

/** The files' contents under the names that `node:tls` gives them; throws when one cannot be read. */
export function tlsContents(files: TlsFiles): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  const { caFile, certFile, keyFile } = files;
  return {
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
  };
}
