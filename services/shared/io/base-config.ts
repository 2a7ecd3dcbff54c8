import {
  durationMs,
  list,
  matching,
  oneOf,
  port,
  type Schema,
  text,
  timerMs,
  whole,
} from "./config.ts";

/**
 * A text that a header carries unchanged (RFC 9110 section 5.5): white space around a value would be lost.
 */
export const TOKEN_FORM = /^[!-~](?:[ -~]*[!-~])?$/;
export const TOKEN_RULE = "printable ASCII, without a space or a line's end around it";

/** Settings that every process reads. */
export const PROCESS_SETTINGS = {
  LOG_LEVEL: oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"], "info"),
  GRPC_HOST: text("127.0.0.1"),
  GRPC_PORT: port(9090),
  OPS_HOST: text("127.0.0.1"),
  OPS_PORT: port(9100),
  /** The token that this process sends, and by default the one it accepts; required for either. */
  RPC_TOKEN: matching(TOKEN_FORM, TOKEN_RULE, ""),
  /** JSON: methods by caller; the callers' tokens are settings of their own (`shared/rpc/listed-callers.ts`). */
  RPC_CALLERS: text(""),
  /**
   * JSON: caller names with their tokens and methods (`shared/rpc/auth.ts`); empty accepts `RPC_TOKEN`.
   */
  RPC_TOKENS: text(""),
  RPC_TLS_CERT_FILE: text(""),
  RPC_TLS_KEY_FILE: text(""),
  RPC_TLS_CA_FILE: text(""),
  /** With TLS: a plaintext port for health probes, which have no certificate; 0 for none. */
  GRPC_HEALTH_PORT: port(0),
  RPC_IN_FLIGHT_MAX: whole(1, 1_000_000, 4096),
  RPC_CONNECTION_AGE_MS: timerMs(0),
  /** How long a drain waits before it closes servers, so that load balancers notice. */
  DRAIN_DELAY_MS: timerMs(0),
  CLOSE_TIMEOUT_MS: timerMs(25_000),
} as const satisfies Schema;

/** Settings of services that own a database. */
export const DATABASE_SETTINGS = {
  MONGODB_URI: text(),
  /** Databases are named `<prefix>_<service>`; MongoDB allows names of 63 bytes. */
  MONGODB_PREFIX: matching(/^[\w-]{1,53}$/, "at most 53 letters, digits, _ and -", "sms"),
  MONGODB_POOL_MAX: whole(1, 1000, 20),
} as const satisfies Schema;

/** Settings of services with an audit trail. */
export const AUDIT_SETTINGS = {
  /** How long its entries are kept: two years; a day to ten years. */
  AUDIT_KEEP_MS: whole(86_400_000, 315_360_000_000, 63_072_000_000),
} as const satisfies Schema;

/** Settings of services that publish or consume events. */
export const EVENT_SETTINGS = {
  NATS_URL: text(),
  EVENT_STREAM_REPLICAS: whole(1, 5, 1),
  EVENT_STREAM_MAX_BYTES: whole(1_048_576, Number.MAX_SAFE_INTEGER, 8_589_934_592),
  EVENT_STREAM_MAX_AGE_MS: durationMs(604_800_000),
} as const satisfies Schema;

/** The address of each service's gRPC server: `host:port`, or several separated by commas. */
export const ADDRESS_SETTINGS = {
  TENANT_GRPC: list(text(), []),
  SENDER_ID_GRPC: list(text(), []),
  WALLET_GRPC: list(text(), []),
  ROUTING_GRPC: list(text(), []),
  MESSAGING_GRPC: list(text(), []),
  WEBHOOK_GRPC: list(text(), []),
  CAMPAIGN_GRPC: list(text(), []),
  CONSENT_GRPC: list(text(), []),
} as const satisfies Schema;
