import { layoutOf } from "./paths.ts";
import { runCommand } from "./stack-error.ts";
import { withStackLock } from "./stack-lock.ts";
import { stopProcesses } from "./stop-stack.ts";

/** `make down`: stops exactly the processes of `make up`; the data stays. */
await runCommand(async () => {
  const layout = layoutOf();
  const ended = await withStackLock(layout, () =>
    stopProcesses(layout, undefined, (line) => process.stdout.write(`  ${line}\n`)),
  );
  process.stdout.write(
    ended.length === 0 ? "nothing of this clone's stack was running\n" : "down\n",
  );
});
