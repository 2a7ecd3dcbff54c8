import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { layoutOf, STRIPPED_DIR } from "./paths.ts";
import { runCommand } from "./stack-error.ts";
import { withStackLock } from "./stack-lock.ts";
import { stopProcesses } from "./stop-stack.ts";

/** `make reset`: ends the stack and removes its data, keys and logs; unpacked servers stay. */
await runCommand(async () => {
  const layout = layoutOf();
  await withStackLock(layout, async () => {
    await stopProcesses(layout);
    const { stackFile, runDir, logDir, dataDir, tlsDir, secretsFile, seedFile } = layout;
    const made = [stackFile, logDir, dataDir, tlsDir, secretsFile, seedFile];
    const others = [`${logDir}.previous`, layout.receiverSecretsFile, STRIPPED_DIR];
    // The folder of the lock stays: others may wait for it there.
    const records = readdirSync(runDir).filter((name) => !name.startsWith("lock.json"));
    for (const path of [...made, ...others, ...records.map((name) => join(runDir, name))]) {
      rmSync(path, { recursive: true, force: true });
    }
  });
  process.stdout.write("the next make up starts from nothing\n");
});
