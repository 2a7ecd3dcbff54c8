/**
 * `node services/main.ts <name>…` runs the named services in one process: they call each other in memory and
 * all others over gRPC. `node services/main.ts migrate` migrates every database and the event stream to this
 * version, and exits.
 */

import { setProcessDefaults } from "./shared/io/process-defaults.ts";
import type { ServiceModule } from "./shared/io/service-context.ts";

/** Every service by name; imported on demand. */
const SERVICES: Readonly<Record<string, () => Promise<ServiceModule>>> = {
  tenant: () => import("./tenant/start.ts"),
  "sender-id": () => import("./sender-id/start.ts"),
  wallet: () => import("./wallet/start.ts"),
  routing: () => import("./routing/start.ts"),
  messaging: () => import("./messaging/start.ts"),
  carrier: () => import("./carrier/start.ts"),
  campaign: () => import("./campaign/start.ts"),
  consent: () => import("./consent/start.ts"),
  webhook: () => import("./webhook/start.ts"),
  gateway: () => import("../gateway/start.ts"),
  "operator-console": () => import("./operator-console/start.ts"),
  "smsc-simulator": () => import("./smsc-simulator/start.ts"),
};

/**
 * Signals that end a process while it loads or migrates; every step of a migration may be interrupted. The first
 * process of a container has no default handlers: without these it would ignore signals until the grace period
 * is over. A service with work to finish replaces them (`shared/io/lifecycle.ts`).
 */
const ENDINGS = { SIGINT: 2, SIGTERM: 15 } as const;
for (const [signal, number] of Object.entries(ENDINGS)) {
  process.on(signal, () => process.exit(128 + number));
}

setProcessDefaults(process.env);
const names = process.argv.slice(2);
const unknown = names.filter((name) => name !== "migrate" && SERVICES[name] === undefined);
if (names.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) process.stderr.write(`unknown service: ${unknown.join(", ")}\n`);
  process.stderr.write(
    `usage: node services/main.ts <name>…\nservices: ${Object.keys(SERVICES).join(", ")}\n` +
      "or: node services/main.ts migrate\n",
  );
  process.exitCode = 2;
} else if (names.includes("migrate")) {
  const { migrate } = await import("./migrate.ts");
  process.exitCode = await migrate(process.env);
} else {
  const { runProcess } = await import("./shared/process.ts");
  const services = await Promise.all(
    names.map(async (name) => ({ name, ...(await loader(name)()) })),
  );
  process.exitCode = await runProcess(services, process.env);
}

function loader(name: string): () => Promise<ServiceModule> {
  const load = SERVICES[name];
  if (load === undefined) throw new Error(`unknown service ${name}`);
  return load;
}
