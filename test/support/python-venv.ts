import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../deploy/dev/paths.ts";
import { skipSince } from "./skip.ts";

const run = promisify(execFile);

/**
 * The Python of a virtual environment below `.local/` with these packages, made once for each list of packages. Skips
 * the test where Python or a package cannot be had.
 */
export async function pythonWith(
  test: Mocha.Context,
  name: string,
  packages: readonly string[],
): Promise<string> {
  const version = "import sys; sys.exit(sys.version_info < (3, 11))";
  await run("python3", ["-c", version]).catch(() => skipSince(test, "there is no Python 3.11"));
  const folder = join(ROOT, ".local/clients", name);
  const python = join(folder, "bin/python");
  const stamp = join(folder, `${packages.join(" ").replaceAll(/[^\w.=-]+/g, "_")}.done`);
  if (existsSync(stamp)) return python;
  mkdirSync(dirname(folder), { recursive: true });
  try {
    await run("python3", ["-m", "venv", "--clear", folder]);
    const options = ["--quiet", "--disable-pip-version-check"];
    await run(python, ["-m", "pip", "install", ...options, ...packages]);
  } catch (error) {
    skipSince(test, `pip cannot install ${packages.join(", ")}: ${firstLine(error)}`);
  }
  writeFileSync(stamp, "");
  return python;
}

function firstLine(error: unknown): string {
  const text = (error as { stderr?: string }).stderr || String(error);
  return text.trim().split("\n")[0] ?? "";
}
