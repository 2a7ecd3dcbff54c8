import { readFileSync } from "node:fs";
import { ConfigError } from "./config.ts";

/** PEM files for a connection to a server: the server's authority, and a client certificate. */
export type TlsFiles = {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
};

/** Setting names in full: `make up` finds the settings to pass on by searching the sources. */
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
 * The settings with the TLS files of a server; undefined when none is set. Throws `ConfigError` when only one
 * of certificate and key is set.
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

/** Servers with settings for TLS files. */
export const TLS_SERVERS = Object.keys(NAMES) as (keyof typeof NAMES)[];

/**
 * The files of mutual TLS between services; undefined when none is set. Throws `ConfigError` when some are
 * missing: the process would otherwise use plaintext without notice.
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

/** The files' contents under the names of `node:tls`; throws when a file cannot be read. */
export function tlsContents(files: TlsFiles): { ca?: Buffer; cert?: Buffer; key?: Buffer } {
  const { caFile, certFile, keyFile } = files;
  return {
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile) }),
    ...(certFile === undefined ? {} : { cert: readFileSync(certFile) }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile) }),
  };
}
