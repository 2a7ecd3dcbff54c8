import {
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  RetentionPolicy,
  StorageType,
} from "nats";
import type { Logger } from "../core/logger.ts";
import { retry } from "../flow/retry.ts";
import { connectNats } from "../vendor/nats-transport.ts";
import { natsOptions } from "./nats-options.ts";

/** The stream of events. */
export const EVENT_STREAM = "SMS_EVENTS";

/** A connection to NATS. */
export type Nats = {
  readonly connection: NatsConnection;
  readonly jetstream: JetStreamClient;
  /** Throws when the server is away. */
  ping(): Promise<void>;
  close(): Promise<void>;
};

/** Opens NATS; retries the first connection until `signal` is aborted, and reconnects for ever. */
export async function openNats(options: {
  readonly url: string;
  readonly name: string;
  readonly log: Logger;
  readonly signal?: AbortSignal;
}): Promise<Nats> {
  const { url, name, log, signal } = options;
  const servers = natsOptions(url, process.env);
  const connect = () =>
    connectNats({
      ...servers,
      name,
      maxReconnectAttempts: -1,
      // Without this a second refused login ends the connection for good, however late it comes.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: 250,
      reconnectJitter: 250,
      pingInterval: 5000,
      maxPingOut: 2,
      timeout: 5000,
      // Without this each publish keeps two stack traces for an error that is rare.
      noAsyncTraces: true,
    });
  const connection = await retry(connect, {
    baseMs: 200,
    capMs: 5000,
    signal,
    onRetry: (error, attempt) => log.warn({ error, attempt }, "NATS does not answer yet"),
  });
  void logStatus(connection, log);
  return {
    connection,
    jetstream: connection.jetstream({ timeout: 5000 }),
    async ping() {
      await connection.rtt();
    },
    async close() {
      // While the server is away, `drain` ends without closing and the client would dial for ever.
      await connection.drain().catch(() => undefined);
      await connection.close();
    },
  };
}

async function logStatus(connection: NatsConnection, log: Logger): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === "disconnect") log.warn("disconnected from NATS");
    if (status.type === "reconnect") log.info("reconnected to NATS");
  }
}

/** Settings of the event stream. */
export type StreamSettings = {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly replicas: number;
  readonly maxAgeMs: number;
  readonly maxBytes: number;
};

/**
 * Creates the stream or updates its settings. Idempotent. Throws when the stream holds more than the settings
 * allow: the server would drop the oldest events at once, including those not yet delivered.
 */
export async function ensureStream(
  manager: JetStreamManager,
  settings: StreamSettings,
): Promise<void> {
  const config = {
    name: settings.name,
    subjects: [...settings.subjects],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: settings.replicas,
    max_age: settings.maxAgeMs * 1_000_000,
    max_bytes: settings.maxBytes,
    duplicate_window: 120_000 * 1_000_000,
  };
  const held = await manager.streams.info(settings.name).then(
    ({ state }) => state.bytes,
    (error: unknown) => {
      if (isMissing(error)) return undefined;
      throw error;
    },
  );
  if (held === undefined) {
    await manager.streams.add(config);
    return;
  }
  if (settings.maxBytes > 0 && held > settings.maxBytes) {
    throw new Error(
      `${settings.name} holds ${held} bytes, more than the limit of ${settings.maxBytes}`,
    );
  }
  await manager.streams.update(settings.name, config);
}

/** The server's error codes for a missing consumer and a missing stream. */
const NOT_FOUND: ReadonlySet<number | undefined> = new Set([10_014, 10_059]);

/** True when the stream or consumer does not exist; false for other errors, such as a timeout. */
export function isMissing(error: unknown): boolean {
  return error instanceof NatsError && NOT_FOUND.has(error.api_error?.err_code);
}
