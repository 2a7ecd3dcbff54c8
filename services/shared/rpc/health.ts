/** `grpc.health.v1.Health`: what probes and load balancers ask a server. */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../proto/gen/grpc/health/v1/health_pb.js";
import type { Routes } from "./routes.ts";

/** Watches that may be open at once on one server. */
const WATCHERS_MAX = 256;

/** A server's health, by service; the empty name is the server as a whole. */
export type HealthControl = {
  /** Sets one service; the server as a whole serves while all its services do. */
  set(service: string, isServing: boolean): void;
  /** Everything stops serving, for good, and watches end: the server drains. */
  stop(): void;
  /** The service, to be registered on a router. */
  readonly routes: Routes;
};

/** Makes the health of the named services; all serve at first. */
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
        // To a client that watches, any other error says that this healthy server is not (gRFC A17).
        throw new ConnectError("too many watches: use Check", Code.Unimplemented);
      }
      let wake = (): void => {};
      const onChange = (): void => wake();
      watchers.add(onChange);
      signal.addEventListener("abort", onChange, { once: true });
      try {
        let told: Status | undefined;
        while (!signal.aborted) {
          const status = statusOf(service);
          if (status !== told) {
            told = status;
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
