import { spawn } from "node:child_process";
import type { ProcessRecord } from "../../deploy/dev/processes.ts";

/** Watches over processes that a test run started. */
export type Guard = {
  /** Puts a process in the guard's care, as soon as it exists. */
  readonly add: (record: ProcessRecord) => void;
  /** Everything was ended in good order: the guard leaves and touches nothing. */
  readonly dismiss: () => void;
};

// Its standard input is a pipe that only this process holds, so it sees the end of this process
// however that comes, kill -9 included.
const SCRIPT = `
folder=$1
while read -r word; do
  [ "$word" = dismissed ] && exit 0
  pids="$pids $word"
done
for pid in $pids; do kill -KILL "-$pid" 2>/dev/null; done
rm -rf "$folder"`;

/** Ends the processes given to it and removes their folder, should this process die before it could. */
export function createGuard(folder: string): Guard {
  const guard = spawn("sh", ["-c", SCRIPT, "guard", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.unref();
  const input = guard.stdin;
  input.on("error", () => {});
  // A pipe is a socket to Node; without this it would keep the event loop alive.
  if ("unref" in input && typeof input.unref === "function") input.unref();
  return {
    add: (record) => void input.write(`${record.pid}\n`),
    dismiss: () => void input.end("dismissed\n"),
  };
}
