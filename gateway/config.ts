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
  /** Key that signs list cursors; the same on every replica. */
  CURSOR_KEY: text(),
  /** The largest request body; at most the size of one RPC to messaging. */
  BODY_BYTES_MAX: whole(1, 15_728_640, 4_194_304),
  /** How long a client may take to send its body. */
  BODY_TIMEOUT_MS: timerMs(15_000),
  /** Documentation address of error types; empty means `/docs` of this gateway. */
  DOCS_URL: webAddress(""),
  /**
   * The address customers use. If empty, the OpenAPI document names `/`, and documentation addresses are built from
   * `HOST` and `PORT`.
   */
  BASE_URL: webAddress(""),
  /** CIDRs of proxies whose `X-Forwarded-For` is trusted. */
  TRUSTED_PROXIES: list(network(), []),
  /** `remove` disables the deprecated send path, after its sunset. */
  MESSAGE_SEND_SUNSET: oneOf(["keep", "remove"], "keep"),
  /** Messages that the test keys of a tenant may make in one UTC day. */
  TEST_MESSAGES_PER_DAY: whole(0, 1_000_000_000, 10_000),
  SEND_AT_MIN_MS: durationMs(60_000),
  /** Messaging accepts `send_at` up to 90 days ahead. */
  SEND_AT_MAX_MS: whole(0, 7_776_000_000, 7_776_000_000),
  /** The longest time range of one list request; at least the 7 days of a request without bounds. */
  LIST_SPAN_MAX_MS: durationMs(7_948_800_000, LIST_DEFAULT_MS),
  /** How many gateways share the rate limit while Redis is unavailable, if `GATEWAY_PEERS` gives no count. */
  GATEWAY_REPLICAS: whole(1, 1000, 1),
  /** A DNS name with one address for each ready gateway; empty for none. */
  GATEWAY_PEERS: text(""),
  /** Upper bound of the load limit: beyond it the gateway responds with 503 at once. */
  REQUESTS_MAX: whole(1, 1_000_000, 2000),
  /** How long an admitted request may wait for the requests ahead of it, when there are many. */
  REQUEST_DELAY_MAX_MS: durationMs(500),
  /** Smoothed event loop lag beyond which new requests get 503. */
  LOOP_LAG_MAX_MS: durationMs(1000),
  CONNECTIONS_MAX: whole(1, 1_000_000, 20_000),
  /**
   * Connections of one address (for IPv6 one /64) that have sent no valid key; beyond it the oldest is closed. 0 means
   * half of `CONNECTIONS_MAX`. Addresses in `TRUSTED_PROXIES` have no share.
   */
  CONNECTIONS_PER_ADDRESS_MAX: whole(0, 1_000_000, 0),
  /** How long a key and its tenant are cached. */
  AUTH_CACHE_MS: durationMs(4000),
  /** Origins that browsers may call from; empty keeps CORS off. */
  CORS_ORIGINS: list(readBy(checkOrigin), []),
  ACCESS_LOG: flag(true),
} as const satisfies Schema;

/**
 * Accepts an origin as browsers write it (RFC 6454 section 6.1), or an app's own scheme. Any other text would
 * match no request.
 */
function checkOrigin(text: string): void {
  const isOfApp = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/.test(text);
  if (isOfApp || URL.parse(text)?.origin === text) return;
  throw new Error(
    "must be origins such as https://app.example.com, without a path or a last slash",
  );
}
