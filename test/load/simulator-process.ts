import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { freePorts } from "../../deploy/dev/ports.ts";
import { endProcess, startProcess } from "../../deploy/dev/processes.ts";
import { eventually } from "../support/poll.ts";

/** A simulator in a process of its own, as the carrier of a peer. */
export type SimulatorProcess = {
  readonly port: number;
  readonly systemId: string;
  readonly password: string;
  readonly pid: number;
  stop(): Promise<void>;
};

/** Starts it on free ports; `folder` takes its log. */
export async function startSimulatorProcess(folder: string): Promise<SimulatorProcess> {
  const [port = 0, controlPort = 0, opsPort = 0] = await freePorts(3);
  const account = { systemId: "peer", password: "peer" };
  const record = await startProcess({
    name: "smsc-simulator",
    program: process.execPath,
    args: ["services/main.ts", "smsc-simulator"],
    cwd: process.cwd(),
    env: {
      PATH: process.env.PATH,
      LOG_LEVEL: "warn",
      RPC_TOKEN: randomUUID(),
      OPS_HOST: "127.0.0.1",
      OPS_PORT: String(opsPort),
      SMSC_HOST: "127.0.0.1",
      SMSC_PORT: String(port),
      SMSC_CONTROL_PORT: String(controlPort),
      SMSC_SYSTEM_ID: account.systemId,
      SMSC_PASSWORD: account.password,
    },
    logFile: join(folder, "smsc-simulator.log"),
  });
  const stop = async () => void (await endProcess(record, 5000));
  try {
    const control = `http://127.0.0.1:${controlPort}/behaviour`;
    await eventually(async () => (await fetch(control)).ok, { what: "the simulator" });
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, ...account, pid: record.pid, stop };
}
