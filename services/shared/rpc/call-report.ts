/** The report of servers and transports about each call, for metrics and logs. */

/** One finished call. */
export type CallReport = {
  /** `sms.v1.WalletService/GetWallet` */
  readonly method: string;
  /** gRPC status name: `OK`, `NOT_FOUND`, … */
  readonly code: string;
  readonly durationMs: number;
};

/** The part of a logger that the RPC layer needs; pino's logger fits. */
export type RpcLog = {
  error(fields: object, text: string): void;
};

/** gRPC status names by number (grpc/grpc, doc/statuscodes.md). */
const STATUS_NAMES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** The name of a gRPC status number. */
export function statusName(code: number): string {
  return STATUS_NAMES[code] ?? "UNKNOWN";
}
