import type { DescService } from "@bufbuild/protobuf";
import type { Client, ConnectRouter } from "@connectrpc/connect";
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Clock } from "../core/clock.ts";
import type { GuardedPage } from "../rpc/authenticated-page.ts";
import type { Lifecycle } from "./lifecycle.ts";

/**
 * The process passes this to a service's `start`. A service cannot tell whether it runs alone or with others in
 * one process.
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

/** Starts a service. */
export type StartService = (context: ServiceContext) => Promise<void>;

/** The exports of a service's start module. */
export type ServiceModule = {
  readonly start: StartService;
  /**
   * Reads the settings of `start`, so that all faults of a process are reported before any service starts.
   */
  readonly readSettings: (env: NodeJS.ProcessEnv) => unknown;
};
