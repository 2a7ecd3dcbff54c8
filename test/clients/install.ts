/**
 * Installs the generators of `generators.json` under `.local/clients`, once per version. `.ci/run` does it before the
 * tests, which otherwise do it themselves.
 */
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { run } from "./run.ts";

type Versions = Readonly<Record<string, string>>;
type Kind = "npm" | "python" | "go" | "maven" | "csharp";

const VERSIONS = JSON.parse(
  readFileSync(new URL("generators.json", import.meta.url), "utf8"),
) as Readonly<Record<Kind, Versions>>;

const ROOT = resolve(".local/clients");

/** An install may have to download and compile. */
const INSTALL_MAX_MS = 240_000;

/** The command that each kind needs on the machine, and how it installs into a folder. */
const INSTALLERS: Readonly<
  Record<Kind, { readonly needs: string; install(versions: Versions, dir: string): Promise<void> }>
> = {
  npm: {
    needs: "npm",
    async install(versions, dir) {
      writeFileSync(join(dir, "package.json"), JSON.stringify({ private: true }));
      const packages = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
      const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
      await run("npm", ["install", "--save-exact", ...quiet, ...packages], { cwd: dir });
    },
  },
  python: {
    needs: "python3",
    async install(versions, dir) {
      await run("python3", ["-m", "venv", dir]);
      const packages = Object.entries(versions).map(([name, version]) => `${name}==${version}`);
      const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages];
      await run(join(dir, "bin/python"), pip, { timeoutMs: INSTALL_MAX_MS });
    },
  },
  go: {
    needs: "go",
    async install(versions, dir) {
      for (const [name, version] of Object.entries(versions)) {
        const options = { env: { GOBIN: dir }, timeoutMs: INSTALL_MAX_MS };
        await run("go", ["install", `${name}@${version}`], options);
      }
    },
  },
  maven: {
    needs: "mvn",
    async install(versions, dir) {
      for (const [name, version] of Object.entries(versions)) {
        const artifact = `-Dartifact=${name}:${version}`;
        const copy = [artifact, `-DoutputDirectory=${dir}`, "-Dmdep.stripVersion=true"];
        await run("mvn", ["-q", "-B", "dependency:copy", ...copy], { timeoutMs: INSTALL_MAX_MS });
      }
    },
  },
  // No package repository but NuGet has the .NET SDK. The runtime is a wheel; Roslyn and the JSON library that
  // generated clients use come with Azure's generator.
  csharp: {
    needs: "python3",
    async install(versions, dir) {
      const [[roslyn = "", version = ""] = [], ...wheels] = Object.entries(versions);
      await run("python3", ["-m", "venv", dir]);
      const packages = wheels.map(([name, version]) => `${name}==${version}`);
      const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages];
      await run(join(dir, "bin/python"), pip, { timeoutMs: INSTALL_MAX_MS });
      // The wheel forgets that it is a program.
      for (const program of globSync(
        join(dir, "lib/*/site-packages/dnv/net/runtime/.net/dotnet"),
      )) {
        chmodSync(program, 0o755);
      }
      const pack = ["pack", "--silent", "--pack-destination", dir, `${roslyn}@${version}`];
      const { stdout } = await run("npm", pack, { timeoutMs: INSTALL_MAX_MS });
      const archive = join(dir, stdout.trim());
      const names = ["Microsoft.CodeAnalysis", "Microsoft.CodeAnalysis.CSharp", "Newtonsoft.Json"];
      const files = names.map((name) => `package/dist/generator/${name}.dll`);
      await run("tar", ["xzf", archive, "-C", dir, ...files]);
      rmSync(archive);
    },
  },
};

/** Installs the generators of a kind on first use; returns their folder, or why they cannot be installed. */
export async function installed(kind: Kind): Promise<{ dir: string } | { missing: string }> {
  const versions = VERSIONS[kind];
  const { needs, install } = INSTALLERS[kind];
  const name = Object.values(versions)
    .join("-")
    .replace(/[^\w.-]/g, "");
  const dir = join(ROOT, `${kind}-${name}`);
  const mark = join(dir, "installed");
  if (existsSync(mark)) return { dir };
  try {
    await run(needs, [needs === "go" ? "version" : "--version"]);
  } catch {
    return { missing: `${needs} is not installed` };
  }
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  try {
    await install(versions, dir);
  } catch (error) {
    const [line = ""] = String(error instanceof Error ? error.message : error).split("\n");
    return { missing: `the generators for ${kind} could not be installed: ${line}` };
  }
  // Last, so that an install that was cut short is repeated.
  writeFileSync(mark, "");
  return { dir };
}

if (process.argv[1] === import.meta.filename) {
  for (const kind of Object.keys(VERSIONS) as Kind[]) {
    const result = await installed(kind);
    process.stdout.write(`${kind}: ${"dir" in result ? "installed" : result.missing}\n`);
  }
}
