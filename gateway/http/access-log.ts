import { DURATION_BUCKETS_S, Histogram } from "../../services/shared/io/metrics.ts";
import type { ServiceContext } from "../../services/shared/io/service-context.ts";
import type { FinishedRequest } from "../app.ts";

/** Where the gateway tells of its requests. */
export type AccessLog = {
  readonly onFinish: (request: FinishedRequest) => void;
  /** A request that was refused at the door; whoever refuses writes the log. */
  readonly onRefused: (method: string, route: string) => void;
};

type Series = Pick<FinishedRequest, "method" | "route" | "status">;

/** Reports each request: one duration in the metrics and, when wanted, one wide log line. */
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
  // The line holds no personal data and no text of the caller's, so nothing is looked for in it.
  const lines = log.child({}, { redact: [] });
  /** Each series once found is kept: finding it costs more than adding to it. */
  const series = new Map<string, { observe(seconds: number): void }>();
  const seriesOf = ({ method, route, status }: Series) => {
    const key = `${method} ${status} ${route}`;
    let found = series.get(key);
    if (found === undefined) {
      found = durations.labels(methodLabel(method), route, String(status));
      // Methods that clients make up are not kept: there is no end to them.
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

/** Methods that clients make up must not become series of their own. */
function methodLabel(method: string): string {
  return METHODS.has(method) ? method : "other";
}
