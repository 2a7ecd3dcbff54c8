import { readFileSync } from "node:fs";

/** PEM files for a connection to a server outside: its authority, and a certificate to show. */
export type TlsFiles = {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
};

/**
 * Reads `<prefix>_TLS_CA_FILE`, `<prefix>_TLS_CERT_FILE` and `<prefix>_TLS_KEY_FILE`, where prefix is
 * `MONGODB`, `NATS` or `REDIS`; nothing when none is set. Throws when only one of certificate and
 * key is.
 */
export function tlsFilesOf(env: NodeJS.ProcessEnv, prefix: string): TlsFiles | undefined {
  const of = (name: string) => env[`${prefix}_TLS_${name}_FILE`] || undefined;
  const [caFile, certFile, keyFile] = [of("CA"), of("CERT"), of("KEY")];
  if (caFile === undefined && certFile === undefined && keyFile === undefined) return undefined;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new Error(`${prefix}_TLS_CERT_FILE and ${prefix}_TLS_KEY_FILE belong together`);
  }
  return {
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
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
