/**
 * Mutual TLS from files that are replaced while the process runs, as cert-manager and mounted
 * Secrets do: they are read again every `refreshMs`, new connections use what was read last, and
 * connections that are open stay so until their age ends them.
 */
import { readFileSync } from "node:fs";
import { type ChannelCredentials, experimental, type ServerCredentials } from "@grpc/grpc-js";

/** PEM files: a certificate, its key, and the authorities of the other side. */
export type RpcTlsFiles = {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  /** How often they are read again. 60 s. */
  readonly refreshMs?: number;
};

/** Credentials of a server that asks its clients for a certificate; throws when a file cannot be read. */
export function serverCredentialsFrom(files: RpcTlsFiles): ServerCredentials {
  const provider = watch(files);
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

/** Credentials of a client that shows its certificate; throws when a file cannot be read. */
export function channelCredentialsFrom(files: RpcTlsFiles): ChannelCredentials {
  const provider = watch(files);
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
}

function watch({ certFile, keyFile, caFile, refreshMs = 60_000 }: RpcTlsFiles) {
  // The watcher only waits for a file that is not there; a wrong path should stop the start instead.
  for (const file of [certFile, keyFile, caFile]) readFileSync(file);
  return new experimental.FileWatcherCertificateProvider({
    certificateFile: certFile,
    privateKeyFile: keyFile,
    caCertificateFile: caFile,
    refreshIntervalMs: refreshMs,
  });
}
