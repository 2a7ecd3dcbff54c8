/** `grpc.health.v1.Health`, for probes and load balancers. */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../proto/gen/grpc/health/v1/health_pb.js";
import type { Routes } from "./routes.ts";

/** The limit of open watches on one server. */
const WATCHERS_MAX = 256;

/** The health of each service of a server; the empty name means the server as a whole. */
export type HealthControl = {
  /** Sets one service; the server as a whole serves while all its services do. */
  set(service: string, isServing: boolean): void;
  /** Sets everything to not serving, for good, and ends watches: the server drains. */
  stop(): void;
  /** The service for a router. */
  readonly routes: Routes;
};

/** Starts with all named services serving. */
export function createHealth(services: readonly string[]): HealthControl {
  const serving = new Map(services.map((service) => [service, true]));
  const watchers = new Set<() => void>();
  let isStopped = false;

  function statusOf(service: string): Status {
    if (service !== "" && !serving.has(service)) return Status.SERVICE_UNKNOWN;
    const isServing =
      service === "" ? [...serving.values()].every(Boolean) : serving.get(service) === true;
    return isServing && !isStopped ? Status.SERVING : Status.NOT_SERVING;
  }

  function wakeAll(): void {
    for (const wake of watchers) wake();
  }

  const implementation: ServiceImpl<typeof Health> = {
    check({ service }) {
      const status = statusOf(service);
      if (status !== Status.SERVICE_UNKNOWN) return { status };
      throw new ConnectError("unknown service", Code.NotFound);
    },

    list() {
      const names = ["", ...serving.keys()];
      return { statuses: Object.fromEntries(names.map((n) => [n, { status: statusOf(n) }])) };
    },

    async *watch({ service }, { signal }) {
      if (watchers.size >= WATCHERS_MAX) {
        // A watching client takes any other error to mean that this healthy server is not serving (gRFC A17).
        throw new ConnectError("too many watches: use Check", Code.Unimplemented);
      }
      let wake = (): void => {};
      const onChange = (): void => wake();
      watchers.add(onChange);
      signal.addEventListener("abort", onChange, { once: true });
      try {
        let sent: Status | undefined;
        while (!signal.aborted) {
          const status = statusOf(service);
          if (status !== sent) {
            sent = status;
            yield { status };
          } else if (isStopped) {
            return;
          } else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      } finally {
        watchers.delete(onChange);
        signal.removeEventListener("abort", onChange);
      }
    },
  };

  return {
    set(service, isServing) {
      serving.set(service, isServing);
      wakeAll();
    },
    stop() {
      isStopped = true;
      wakeAll();
    },
    routes: (router) => router.service(Health, implementation),
  };
}
