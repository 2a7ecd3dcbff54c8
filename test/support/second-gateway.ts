/** A second gateway process for a stack: the same settings, its own ports. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../deploy/dev/paths.ts";
import { freePorts } from "../../deploy/dev/ports.ts";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { eventually } from "./poll.ts";

/** The second gateway. */
export type SecondGateway = { readonly url: string; readonly stop: () => Promise<void> };

/** Starts it with the environment of the stack's gateway, read from /proc (proc(5)). */
export async function startSecondGateway(
  stack: StackFile,
  settings: Readonly<Record<string, string>> = {},
): Promise<SecondGateway> {
  const environ = readFileSync(`/proc/${stack.pids.gateway}/environ`, "utf8");
  const inherited = environ.split("\0").flatMap((pair): [string, string][] => {
    const at = pair.indexOf("=");
    return at > 0 ? [[pair.slice(0, at), pair.slice(at + 1)]] : [];
  });
  const [port = 0, opsPort = 0] = await freePorts(2);
  const env = {
    ...Object.fromEntries(inherited),
    PORT: String(port),
    OPS_PORT: String(opsPort),
    ...settings,
  };
  const child = spawn(process.execPath, [join(ROOT, "services/main.ts"), "gateway"], {
    env,
    cwd: ROOT,
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  const stop = async () => {
    child.kill("SIGTERM");
    await ended;
  };
  try {
    await eventually(
      async () => (await fetch(`http://127.0.0.1:${opsPort}/readyz`)).status === 200,
      { timeoutMs: 30_000, what: "the second gateway" },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}`, stop };
}
