/** One finished request, for the access log and the metrics. */
export type FinishedRequest = {
  readonly requestId: string;
  readonly method: string;
  /** Path template; empty when no operation has the path. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly tenantId: string;
  readonly code: string;
  /** Only with tracing on. */
  readonly trace_id?: string;
  readonly span_id?: string;
};
