import {
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
  NatsError,
  RetentionPolicy,
  StorageType,
} from "nats";
import type { Logger } from "../core/logger.ts";
import { backoffMs, pause } from "../flow/backoff.ts";
import { connectNats } from "../vendor/nats-transport.ts";
import { natsOptions } from "./nats-options.ts";

/** The stream of events (design section 5). */
export const EVENT_STREAM = "SMS_EVENTS";

/** A connection to NATS. */
export type Nats = {
  readonly connection: NatsConnection;
  readonly jetstream: JetStreamClient;
  /** Throws when the server is away. */
  ping(): Promise<void>;
  close(): Promise<void>;
};

/** Opens NATS; waits for the first connection for ever, and reconnects for ever. */
export async function openNats(options: {
  readonly url: string;
  readonly name: string;
  readonly log: Logger;
  readonly signal?: AbortSignal;
}): Promise<Nats> {
  const { url, name, log, signal } = options;
  const servers = natsOptions(url, process.env);
  for (let attempt = 0; ; attempt += 1) {
    try {
      const connection = await connectNats({
        ...servers,
        name,
        maxReconnectAttempts: -1,
        // A second refusal, however long after the first, would end the connection for good.
        ignoreAuthErrorAbort: true,
        reconnectTimeWait: 250,
        reconnectJitter: 250,
        pingInterval: 5000,
        maxPingOut: 2,
        timeout: 5000,
        // Else each publish keeps two stack traces for an error that it hardly ever meets.
        noAsyncTraces: true,
      });
      void logStatus(connection, log);
      return {
        connection,
        jetstream: connection.jetstream({ timeout: 5000 }),
        async ping() {
          await connection.rtt();
        },
        async close() {
          // While the server is away draining ends without closing, and dialling would go on for ever.
          await connection.drain().catch(() => undefined);
          await connection.close();
        },
      };
    } catch (error) {
      if (signal?.aborted === true) throw error;
      log.warn({ error, attempt }, "NATS does not answer yet");
      await pause(backoffMs(attempt, 200, 5000), signal);
    }
  }
}

async function logStatus(connection: NatsConnection, log: Logger): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === "disconnect") log.warn("NATS is away");
    if (status.type === "reconnect") log.info("NATS is back");
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
 * Creates the stream, or brings it to these settings. Idempotent. Throws when it holds more than they
 * allow: the server would drop the oldest events at once, those that nobody has had too.
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
      `${settings.name} holds ${held} octets, more than the ${settings.maxBytes} wanted`,
    );
  }
  await manager.streams.update(settings.name, config);
}

/** The server's own numbers for a consumer and a stream that are not there. */
const NOT_FOUND: ReadonlySet<number | undefined> = new Set([10_014, 10_059]);

/** Whether what was asked for does not exist, as opposed to not being told in time. */
export function isMissing(error: unknown): boolean {
  return error instanceof NatsError && NOT_FOUND.has(error.api_error?.err_code);
}
