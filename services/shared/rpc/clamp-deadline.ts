/**
 * Clamps deadlines far in the future. grpc-js computes deadlines in 32 bits of milliseconds. A deadline beyond
 * 24 days, which gRPC allows ("PROTOCOL-HTTP2": eight digits and a unit, up to hours), overflows and may expire
 * at once.
 */
import type { IncomingHttpHeaders } from "node:http2";

/** Milliseconds per unit; eight digits of micro- or nanoseconds are less than two minutes. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1 };

const MS_MAX = 2 ** 31 - 1;
const HEADER = "grpc-timeout";

/**
 * Shortens a deadline that is too long for grpc-js to the longest valid one; leaves others unchanged.
 */
export function shortenDeadline(headers: IncomingHttpHeaders): void {
  const text = headers[HEADER];
  if (typeof text !== "string") return;
  const [, digits, unit = ""] = /^(\d{1,8})([HMSm])$/.exec(text) ?? [];
  const ms = Number(digits) * (UNITS[unit] ?? 0);
  if (ms > MS_MAX) headers[HEADER] = `${Math.floor(MS_MAX / 1000)}S`;
}
