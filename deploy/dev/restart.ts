import { layoutOf } from "./paths.ts";
import { requireRunningStack } from "./running-stack.ts";
import { runCommand, StackError } from "./stack-error.ts";

/** `make restart S=name[,name…]`: ends and starts processes of the running stack with the settings it has. */
await runCommand(async () => {
  const names = (process.argv[2] ?? "").split(/[,\s]+/).filter((name) => name !== "");
  if (names.length === 0) throw new StackError("say which: make restart S=wallet");
  requireRunningStack(layoutOf());
  // Loaded after the check, which is then answered at once.
  const { restartProcess } = await import("./restart-stack.ts");
  for (const name of names) {
    await restartProcess(name, {
      env: process.env,
      hasSmallJournal: true,
      progress: (line) => process.stdout.write(`  ${line}\n`),
    });
  }
});
