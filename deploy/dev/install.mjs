// Runs on the machine's own Node (20 or newer). Makes node_modules match package-lock.json, including the pinned
// Node, which runs everything else.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

if (Number(process.versions.node.split(".")[0]) < 20) {
  fail(`Node ${process.versions.node} is too old to install with: Node 20 or newer is needed`);
}
if (!isInstalled()) {
  process.stdout.write("installing packages (npm ci)\n");
  const { error, status } = spawnSync(
    "npm",
    // Override npm settings of the machine that would omit the pinned Node or a tool.
    [
      ...["ci", "--no-audit", "--no-fund", "--loglevel=error"],
      ...["--include=dev", "--include=optional", "--ignore-scripts=false"],
    ],
    {
      stdio: "inherit",
    },
  );
  if (error) fail("npm is missing: install it (Debian and Ubuntu: apt-get install npm)");
  if (status !== 0) fail("npm ci failed: see the lines above; mend that and run make again");
  if (!isInstalled()) fail("npm ci left packages out: remove node_modules and run make install");
}

/** Whether every package of the lock file is there in the locked version. */
function isInstalled() {
  if (!existsSync("node_modules/.bin/node")) return false;
  try {
    const locked = JSON.parse(readFileSync("package-lock.json", "utf8")).packages;
    const found = JSON.parse(readFileSync("node_modules/.package-lock.json", "utf8")).packages;
    return Object.entries(locked).every(
      ([path, { version, optional }]) =>
        path === "" || optional || found[path]?.version === version,
    );
  } catch {
    return false;
  }
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
