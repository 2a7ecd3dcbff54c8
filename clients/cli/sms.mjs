#!/usr/bin/env node
// Runs on any Node and starts the pinned Node, which runs TypeScript.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(realpathSync(fileURLToPath(import.meta.url)));
const pinned = join(here, "../../node_modules/.bin/node");
const node = existsSync(pinned) ? pinned : process.execPath;
if (node !== pinned && !process.features.typescript) {
  const { node: version } = process.versions;
  process.stderr.write(`sms needs Node 22.18 or newer, this is ${version}: make install\n`);
  process.exit(1);
}
const child = spawn(node, [join(here, "main.ts"), ...process.argv.slice(2)], { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === "SIGINT" ? 130 : 1);
});
