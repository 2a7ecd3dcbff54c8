import { createServer } from "node:http";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { createTokenBucket } from "../shared/flow/token-bucket.ts";
import { listen } from "../shared/io/listen.ts";
import type { StartService } from "../shared/io/service-context.ts";
import { carrierRoutes } from "./adapters/carrier-pages.ts";
import { createConsoleApp } from "./adapters/console-app.ts";
import { createForwarder } from "./adapters/forward.ts";
import { sessionRoutes } from "./adapters/sessions.ts";
import { readSettings } from "./config.ts";

export { readSettings } from "./config.ts";

/** The rate limit of sign-ins, for all browsers together. */
const SIGN_INS = { perSecond: 5, burst: 50 } as const;

/** Serves the operators' console. */
export const start: StartService = async (context) => {
  const { env, log, lifecycle } = context;
  const config = readSettings(env);
  const url = config.OPERATOR_CONSOLE_URL;
  const admission = {
    tenants: context.client(TenantService),
    ownOrigin: url === "" ? "" : new URL(url).origin,
    signIns: createTokenBucket(SIGN_INS.burst, SIGN_INS.perSecond),
  };
  const fixed = {
    ...sessionRoutes(admission),
    ...carrierRoutes(config.CARRIER_OPS, env.RPC_TOKEN ?? ""),
  };
  const app = createConsoleApp(admission, { fixed, rpc: createForwarder(context.client) }, log);
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, app.callback());
  server.maxConnections = 1000;
  const { OPERATOR_CONSOLE_HOST: host, OPERATOR_CONSOLE_PORT: port } = config;
  const listening = await listen(server, host, port);
  lifecycle.onClose("operators' console", () => listening.close());
};
