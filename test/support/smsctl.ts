import { execFile } from "node:child_process";
import { join } from "node:path";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { COMPILE_CACHE } from "./compile-cache.ts";

const MAIN = join(import.meta.dirname, "../../services/smsctl/main.ts");

/** The environment that points smsctl to a stack's services. */
export function settingsOf(stack: Pick<StackFile, "grpc" | "grpc_token">): NodeJS.ProcessEnv {
  const addresses = Object.entries(stack.grpc).map(([name, address]) => [
    `${name.toUpperCase().replaceAll("-", "_")}_GRPC`,
    address,
  ]);
  return { ...Object.fromEntries(addresses), RPC_TOKEN: stack.grpc_token };
}

/**
 * The items that a clean `smsctl check` did not compare, of the given minimum (`messages`, `settlements`,
 * `wallets` and the like): such a check proves nothing.
 */
export function overlooked(value: unknown, least: Readonly<Record<string, number>>): string[] {
  const compared = (value ?? {}) as Readonly<Record<string, number | undefined>>;
  return Object.entries(least)
    .filter(([what, count]) => !((compared[what] ?? 0) >= count))
    .map(([what, count]) => `compared ${compared[what] ?? 0} of ${count} ${what}`);
}

/** Runs `smsctl --json …` against a stack; returns its exit code and JSON output. */
export function smsctl(
  stack: Pick<StackFile, "grpc" | "grpc_token">,
  ...words: string[]
): Promise<{ code: number; value: unknown; error: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, "--json", ...words],
      { env: { ...process.env, ...COMPILE_CACHE, ...settingsOf(stack) }, maxBuffer: 1 << 28 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
        resolve({ code, value: stdout === "" ? undefined : JSON.parse(stdout), error: stderr });
      },
    );
  });
}
