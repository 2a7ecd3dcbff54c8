// Runs on the machine's own Node (20 or newer). Makes node_modules match package-lock.json, including the pinned
// Node, which runs everything else. With `stack` it installs only what the development stack runs; without it also
// the packages for development: checks, generators and tests (docs/adr/0168).
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statfsSync } from "node:fs";

/** The packages and npm's copy of them while it unpacks. */
const STACK_PACKAGES_MB = 500;
const ALL_PACKAGES_MB = 900;
/** The servers and new data of the stack, as in disk-space.ts. */
const NEW_STACK_MB = 650;

const isForStack = process.argv[2] === "stack";

// npm has its own answer to Ctrl-C: wait for it.
process.on("SIGINT", () => {});
if (Number(process.versions.node.split(".")[0]) < 20) {
  fail(`Node ${process.versions.node} is too old to install with: Node 20 or newer is needed`);
}
if (!isInstalled(!isForStack)) install();

function install() {
  // Packages for development that are there stay there: `make up` must not undo `make install`.
  const withDevelopment = !isForStack || hasDevelopment();
  // npm ci removes node_modules first. npm install adds to it, and follows the lock file as well. (It removes two
  // helpers inside `node`, which only unpacked the program.)
  const isAddition = isInstalled(false);
  const command = isAddition ? ["install", "--no-save"] : ["ci"];
  const omit = withDevelopment ? [] : ["--omit=dev"];
  requireSpace(withDevelopment);
  process.stdout.write(`installing packages (npm ${[...command, ...omit].join(" ")})\n`);
  const { error, signal, status } = spawnSync(
    "npm",
    [
      ...[...command, "--no-audit", "--no-fund", "--loglevel=error"],
      // Override npm settings of the machine that would omit the pinned Node or a tool.
      ...(withDevelopment ? ["--include=dev"] : omit),
      ...["--include=optional", "--ignore-scripts=false"],
    ],
    { stdio: "inherit" },
  );
  if (error) fail("npm is missing: install it (Debian and Ubuntu: apt-get install npm)");
  if (signal === "SIGINT" || status === 130) {
    process.stderr.write("interrupted\n");
    process.exit(130);
  }
  const named = `npm ${command[0]}`;
  if (status !== 0) fail(`${named} failed: see the lines above; mend that and run make again`);
  if (!isInstalled(withDevelopment)) {
    fail(`${named} left packages out: remove node_modules and run make install`);
  }
}

/** Whether every package of the lock file is there in the locked version. */
function isInstalled(withDevelopment) {
  if (!existsSync("node_modules/.bin/node")) return false;
  const locked = packagesOf("package-lock.json");
  const found = packagesOf("node_modules/.package-lock.json");
  const rows = Object.entries(locked);
  if (rows.length === 0) return false;
  return rows.every(
    ([path, { version, dev, os }]) =>
      // A package with `os` is one of several, for each platform one.
      path === "" || os || (dev && !withDevelopment) || found[path]?.version === version,
  );
}

/** Whether `make install` was run before. */
function hasDevelopment() {
  return Object.values(packagesOf("node_modules/.package-lock.json")).some(({ dev }) => dev);
}

/** No packages without the file; npm writes that of node_modules last. */
function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return {};
  }
}

/** npm that meets a full disk leaves half of its work; a stack that meets it has installed its packages for nothing. */
function requireSpace(withDevelopment) {
  const { bavail, bsize } = statfsSync(".");
  const freeMb = Math.floor((bavail * bsize) / 1_000_000);
  const packagesMb = withDevelopment ? ALL_PACKAGES_MB : STACK_PACKAGES_MB;
  const isNewStack = isForStack && !process.env.MONGODB_URI && !existsSync(".local/servers");
  const neededMb = packagesMb + (isNewStack ? NEW_STACK_MB : 0);
  if (freeMb >= neededMb) return;
  const what = isNewStack ? "the packages and the servers" : "the packages";
  fail(`the disk is full: ${freeMb} MB are free and ${what} need ${neededMb} MB`);
}

function fail(line) {
  process.stderr.write(`${line}\n`);
  process.exit(1);
}
