import { readFileSync } from "node:fs";
import { type Config, ConfigError, readConfig } from "../shared/io/config.ts";
import type { ServiceContext } from "../shared/io/service-context.ts";
import { SIMULATOR_SETTINGS } from "./config.ts";
import { startSimulator } from "./create-simulator.ts";

/** SMPP 3.4 sections 5.2.1 and 5.2.2, without the octet that ends each. */
const LENGTHS_MAX = [
  ["SMSC_SYSTEM_ID", 15],
  ["SMSC_PASSWORD", 8],
] as const;

/** Reads the settings; throws `ConfigError` with every fault. */
export function readSettings(env: NodeJS.ProcessEnv): Config<typeof SIMULATOR_SETTINGS> {
  const config = readConfig(env, SIMULATOR_SETTINGS);
  const { SMSC_TLS_CERT_FILE: certFile, SMSC_TLS_KEY_FILE: keyFile } = config;
  const faults: string[] = [];
  for (const [name, max] of LENGTHS_MAX) {
    if (config[name].length > max) {
      faults.push(`${name}: SMPP 3.4 allows at most ${max} characters`);
    }
  }
  if ((certFile === "") !== (keyFile === "")) {
    faults.push("SMSC_TLS_CERT_FILE and SMSC_TLS_KEY_FILE: both or neither");
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Starts the simulator as a service of the process. */
export async function start(context: ServiceContext): Promise<void> {
  const { env, log, lifecycle } = context;
  const config = readSettings(env);
  const { SMSC_TLS_CERT_FILE: certFile, SMSC_TLS_KEY_FILE: keyFile } = config;
  const simulator = await startSimulator({
    host: config.SMSC_HOST,
    port: config.SMSC_PORT,
    controlPort: config.SMSC_CONTROL_PORT,
    systemId: config.SMSC_SYSTEM_ID,
    password: config.SMSC_PASSWORD,
    ...(certFile !== "" && {
      tls: { cert: readFileSync(certFile), key: readFileSync(keyFile) },
    }),
    log,
  });
  lifecycle.onClose("smsc simulator", () => simulator.close());
  log.info({ port: simulator.port, controlPort: simulator.controlPort }, "smsc listening");
}
