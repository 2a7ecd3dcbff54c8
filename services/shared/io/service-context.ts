import type { DescService } from "@bufbuild/protobuf";
import type { Client, ConnectRouter } from "@connectrpc/connect";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Clock } from "../core/clock.ts";
import type { GuardedPage } from "../rpc/authenticated-page.ts";
import type { Lifecycle } from "./lifecycle.ts";

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
  /** Adds a page to the ops port, for callers with a token. */
  onOps(page: GuardedPage): void;
};

/** A service's way in. */
export type StartService = (context: ServiceContext) => Promise<void>;

/** What the module of a service's start exports. */
export type ServiceModule = {
  readonly start: StartService;
  /** Reads what `start` will read, so that all faults of a process can be told before anything starts. */
  readonly readSettings: (env: NodeJS.ProcessEnv) => unknown;
};
