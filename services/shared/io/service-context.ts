import type { DescService } from "@bufbuild/protobuf";
import type { Client, ConnectRouter } from "@connectrpc/connect";
import type { Registry } from "prom-client";
import type { Clock } from "../core/clock.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./log.ts";
import type { OpsHandler } from "./ops-server.ts";

/**
 * What the process gives a service's `start`: the composition root's side of the bargain. The
 * same service runs alone or beside others in one process without knowing which.
 */
export type ServiceContext = {
  readonly env: NodeJS.ProcessEnv;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: Registry;
  readonly lifecycle: Lifecycle;
  /** Adds RPC routes; the process's one gRPC server listens once every service has started. */
  serve(routes: (router: ConnectRouter) => void): void;
  /** A client for a service: in memory when it runs in this process, else over gRPC. */
  client<S extends DescService>(service: S): Client<S>;
  /** Adds a handler to the ops port. */
  onOps(handler: OpsHandler): void;
};

/** A service's way in. */
export type StartService = (context: ServiceContext) => Promise<void>;
