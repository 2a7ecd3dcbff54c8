// Runs on the machine's own Node (20 or newer). Makes node_modules match package-lock.json, including the pinned
// Node, which runs everything else.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statfsSync } from "node:fs";

/** The packages and npm's copy of them while it unpacks. */
const PACKAGES_MB = 900;

// npm has its own answer to Ctrl-C: wait for it.
process.on("SIGINT", () => {});
if (Number(process.versions.node.split(".")[0]) < 20) {
  fail(`Node ${process.versions.node} is too old to install with: Node 20 or newer is needed`);
}
if (!isInstalled()) {
  process.stdout.write("installing packages (npm ci)\n");
  requireSpace();
  const { error, signal, status } = spawnSync(
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
  if (signal === "SIGINT" || status === 130) {
    process.stderr.write("interrupted\n");
    process.exit(130);
  }
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

/** npm that meets a full disk leaves half of its work. */
function requireSpace() {
  const { bavail, bsize } = statfsSync(".");
  const freeMb = Math.floor((bavail * bsize) / 1_000_000);
  if (freeMb < PACKAGES_MB) {
    fail(`the disk is full: ${freeMb} MB are free and the packages need ${PACKAGES_MB} MB`);
  }
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
