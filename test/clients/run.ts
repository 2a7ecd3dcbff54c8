/** Runs one command of a test, in bounded time. */
import { execFile } from "node:child_process";

/** Everything that a command printed. */
export type Output = { readonly stdout: string; readonly stderr: string };

/** Resolves when the command exits with 0; the error of another exit begins with what it printed. */
export function run(
  command: string,
  args: readonly string[],
  options: {
    readonly cwd?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly timeoutMs?: number;
  } = {},
): Promise<Output> {
  return new Promise((resolve, reject) => {
    execFile(
      command,
      args,
      {
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        env: { ...process.env, ...options.env },
        timeout: options.timeoutMs ?? 120_000,
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        if (error === null) return resolve({ stdout, stderr });
        const printed = `${stderr}${stdout}`.trim().slice(-4000);
        reject(new Error(`${printed || error.message}\n(${command} ${args.join(" ")})`));
      },
    );
  });
}
