import type { ConnectionOptions } from "nats";
import { ConfigError } from "./config.ts";
import { tlsFilesOf } from "./tls-files.ts";

/**
 * Client options from `NATS_URL` (servers, separated by commas) and the TLS settings. The client itself reads
 * no credentials from URLs (`nats://user:password@host:4222`, or a token alone) and ignores the scheme, so
 * `tls://` must set the TLS option. Throws `ConfigError` for an invalid URL, without the URL in the text: it
 * may hold a password.
 */
export function natsOptions(url: string, env: NodeJS.ProcessEnv): ConnectionOptions {
  const tls = tlsFilesOf(env, "NATS");
  const options: ConnectionOptions = tls === undefined ? {} : { tls };
  if (url.split(",").some((server) => server.startsWith("tls://"))) options.tls ??= {};
  const servers = url.split(",").map((server) => {
    if (!server.includes("@")) return server;
    const parsed = URL.parse(server.includes("://") ? server : `nats://${server}`);
    if (parsed === null) throw new ConfigError(["NATS_URL is not a URL"]);
    const name = decode(parsed.username);
    const pass = decode(parsed.password);
    if (pass === "") options.token = name;
    else Object.assign(options, { user: name, pass });
    return `${parsed.protocol}//${parsed.host}`;
  });
  return { ...options, servers };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ConfigError(["NATS_URL is not a URL: a percent sign in a password is written %25"]);
  }
}
