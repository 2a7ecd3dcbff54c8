import { rmSync } from "node:fs";
import { layoutOf, STRIPPED_DIR } from "./layout.ts";
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
    // The folder of the lock goes last: who waits for the lock makes it anew.
    for (const path of [...made, ...others, runDir]) {
      rmSync(path, { recursive: true, force: true });
    }
  });
  process.stdout.write("the next make up starts from nothing\n");
});
