import {
  durationMs,
  flag,
  list,
  network,
  oneOf,
  port,
  readBy,
  type Schema,
  text,
  timerMs,
  webAddress,
  whole,
} from "../services/shared/io/config.ts";
import { LIST_DEFAULT_MS } from "./lists/time-range.ts";

/** The environment of the gateway. */
export const GATEWAY_SETTINGS = {
  HOST: text("127.0.0.1"),
  PORT: port(8080),
  REDIS_URL: text(),
  NATS_URL: text(),
  /** Key under which list cursors are signed; the same on every replica. */
  CURSOR_KEY: text(),
  /** Largest request body; no more than fits in a call to messaging. */
  BODY_BYTES_MAX: whole(1, 15_728_640, 4_194_304),
  /** How long a client may take to send its body. */
  BODY_TIMEOUT_MS: timerMs(15_000),
  /** Documentation address of error types; empty means this gateway's own `/docs`. */
  DOCS_URL: webAddress(""),
  /**
   * The address customers use. Empty: the OpenAPI description says `/`, and documentation addresses
   * are made from `HOST` and `PORT`.
   */
  BASE_URL: webAddress(""),
  /** CIDRs of proxies whose `X-Forwarded-For` is believed. */
  TRUSTED_PROXIES: list(network(), []),
  /** `remove` after the sunset takes the deprecated send path away. */
  MESSAGE_SEND_SUNSET: oneOf(["keep", "remove"], "keep"),
  SEND_AT_MIN_MS: durationMs(60_000),
  /** Messaging takes nothing that is further ahead than 90 days. */
  SEND_AT_MAX_MS: whole(0, 7_776_000_000, 7_776_000_000),
  /** Longest span one list request may cover; no less than the seven days that one without bounds covers. */
  LIST_SPAN_MAX_MS: durationMs(7_948_800_000, LIST_DEFAULT_MS),
  /** How many gateways share the rate limit while Redis is away, as far as `GATEWAY_PEERS` does not tell. */
  GATEWAY_REPLICAS: whole(1, 1000, 1),
  /** A host name with one address for each gateway that is ready; empty for none. */
  GATEWAY_PEERS: text(""),
  /** Requests in progress beyond which the gateway answers 503 at once. */
  REQUESTS_MAX: whole(1, 1_000_000, 2000),
  /** How long a request let in may wait for those in progress, once there are many of them. */
  REQUEST_DELAY_MAX_MS: durationMs(500),
  /** Smoothed lateness of the event loop beyond which new requests get 503. */
  LOOP_LAG_MAX_MS: durationMs(1000),
  CONNECTIONS_MAX: whole(1, 1_000_000, 20_000),
  /** How long a caller's key and tenant are believed without asking again. */
  AUTH_CACHE_MS: durationMs(4000),
  /** Origins that browsers may call from; empty keeps CORS off. */
  CORS_ORIGINS: list(readBy(checkOrigin), []),
  ACCESS_LOG: flag(true),
} as const satisfies Schema;

/**
 * An origin as browsers write it (RFC 6454 section 6.1), or that of an app, whose scheme is its own: any other
 * text would match none.
 */
function checkOrigin(text: string): void {
  const isOfApp = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(text);
  if (isOfApp || URL.parse(text)?.origin === text) return;
  throw new Error(
    "must be origins such as https://app.example.com, without a path or a last slash",
  );
}
