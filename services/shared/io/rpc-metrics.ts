import { Counter, Histogram, type Registry } from "prom-client";
import { DURATION_BUCKETS_S } from "./metrics.ts";

/** The facts of each finished call. */
export type FinishedCall = {
  /** Full method name, for example `sms.v1.WalletService/PlaceHold`. */
  readonly method: string;
  /** gRPC status name in upper case, for example `OK`. */
  readonly code: string;
  readonly durationMs: number;
};

/** Rate, errors and duration of served calls, named by OpenTelemetry's RPC conventions. */
export function rpcMetrics(registry: Registry): (call: FinishedCall) => void {
  const durations = new Histogram({
    name: "rpc_server_duration_seconds",
    help: "Duration of served RPCs in seconds.",
    labelNames: ["rpc_method", "rpc_grpc_status"],
    buckets: DURATION_BUCKETS_S,
    registers: [registry],
  });
  return ({ method, code, durationMs }) => {
    durations.labels(method, code).observe(durationMs / 1000);
  };
}

/** Counts how often a limit of callers without a valid token was reached (`rpc/unauthenticated-connections.ts`). */
export function unauthenticatedMetrics(registry: Registry): (limit: string) => void {
  const limits = new Counter({
    name: "rpc_unauthenticated_limits_total",
    help: "Streams and connections ended because a caller without a valid token reached a limit.",
    labelNames: ["limit"],
    registers: [registry],
  });
  return (limit) => limits.labels(limit).inc();
}
