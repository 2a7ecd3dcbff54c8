/**
 * Mutual TLS from files that are replaced while the process runs, as cert-manager and mounted Secrets do. The
 * files are read again every `refreshMs`; new connections use the latest content, and open connections keep
 * theirs until their age ends them.
 */
import { readFileSync } from "node:fs";
import { type ChannelCredentials, experimental, type ServerCredentials } from "@grpc/grpc-js";

/** PEM files: a certificate, its key, and the peer's authorities. */
export type RpcTlsFiles = {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  /** The interval of reading the files again. 60 s. */
  readonly refreshMs?: number;
};

/** Credentials of a server that requires a client certificate; throws when a file cannot be read. */
export function serverCredentialsFrom(files: RpcTlsFiles): ServerCredentials {
  const provider = watch(files);
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

/** Credentials of a client with a certificate; throws when a file cannot be read. */
export function channelCredentialsFrom(files: RpcTlsFiles): ChannelCredentials {
  const provider = watch(files);
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
}

function watch({ certFile, keyFile, caFile, refreshMs = 60_000 }: RpcTlsFiles) {
  // The watcher waits for a missing file; a wrong path should fail the start instead.
  for (const file of [certFile, keyFile, caFile]) readFileSync(file);
  return new experimental.FileWatcherCertificateProvider({
    certificateFile: certFile,
    privateKeyFile: keyFile,
    caCertificateFile: caFile,
    refreshIntervalMs: refreshMs,
  });
}
