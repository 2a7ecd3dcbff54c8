import type { ConnectionOptions } from "nats";
import { ConfigError } from "./config.ts";
import { tlsFilesOf } from "./tls-files.ts";

/**
 * What `NATS_URL` (servers, separated by commas) and the TLS settings say, in the terms of the client. It
 * reads no credentials in URLs by itself: `nats://user:password@host:4222`, or a token alone. Nor does it
 * heed the scheme: with `tls://` it is told to talk to no server that has no TLS. Throws `ConfigError` for a
 * URL that is none, without what it says: that may be a password.
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
