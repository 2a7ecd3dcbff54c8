import { DURATION_BUCKETS_S, Histogram } from "../../services/shared/io/metrics.ts";
import type { ServiceContext } from "../../services/shared/io/service-context.ts";
import type { FinishedRequest } from "./finished-request.ts";

/** The access log and the request metrics. */
export type AccessLog = {
  readonly onFinish: (request: FinishedRequest) => void;
  /** Counts a fast 503; `fast-503.ts` writes the log. */
  readonly onRefused: (method: string, route: string) => void;
};

type Series = Pick<FinishedRequest, "method" | "route" | "status">;

/** Reports each request: one duration in the metrics and, if `isLogged`, one wide log line. */
export function createAccessLog(
  { log, metrics }: Pick<ServiceContext, "log" | "metrics">,
  isLogged: boolean,
): AccessLog {
  const durations = new Histogram({
    name: "http_server_request_duration_seconds",
    help: "Duration of REST requests in seconds.",
    labelNames: ["http_request_method", "http_route", "http_response_status_code"],
    buckets: DURATION_BUCKETS_S,
    registers: [metrics],
  });
  // The line holds no personal data and no text of the client, so redaction is off.
  const lines = log.child({}, { redact: [] });
  /** Cache of the metric series by labels: finding a series costs more than adding to it. */
  const series = new Map<string, { observe(seconds: number): void }>();
  const seriesOf = ({ method, route, status }: Series) => {
    const key = `${method} ${status} ${route}`;
    let found = series.get(key);
    if (found === undefined) {
      found = durations.labels(methodLabel(method), route, String(status));
      // Do not cache made-up methods: their number is unbounded.
      if (METHODS.has(method)) series.set(key, found);
    }
    return found;
  };
  return {
    onFinish(request) {
      seriesOf(request).observe(request.durationMs / 1000);
      if (isLogged) lines.info(request, "request");
    },
    onRefused: (method, route) => seriesOf({ method, route, status: 503 }).observe(0),
  };
}

const METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

/** Made-up methods share one label, or clients could create series without bound. */
function methodLabel(method: string): string {
  return METHODS.has(method) ? method : "other";
}
