import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readJson } from "./json-file.ts";
import { layoutOf, logFileOf } from "./paths.ts";
import { processNames } from "./process-names.ts";
import { processCalled } from "./process-table.ts";
import { runCommand, StackError } from "./stack-error.ts";
import type { StackState } from "./stack-file.ts";

/** `make logs [S=wallet] [F=1]`: prints the end of each log, or of one; F=1 follows them. */
await runCommand(async () => {
  const [typed = "", follow = ""] = process.argv.slice(2);
  const layout = layoutOf();
  const state = readJson<StackState>(layout.stateFile);
  if (state === undefined) throw new StackError("there are no logs yet: make up");
  const names = [...processNames(state), "migrate"];
  const wanted = typed === "" ? names : [processCalled(state.processes, typed)];
  if (!wanted.every((name) => names.includes(name))) {
    throw new StackError(`no process is called "${typed}": S= takes ${names.join(", ")}`);
  }
  const files = wanted.map((name) => logFileOf(layout, name)).filter((file) => existsSync(file));
  if (files.length === 0) throw new StackError("there is no such log yet");
  const lines = typed === "" ? "20" : "200";
  const tail = spawn("tail", ["-n", lines, ...(follow === "" ? [] : ["-F"]), ...files], {
    stdio: "inherit",
  });
  await new Promise((resolve) => tail.once("exit", resolve));
});
