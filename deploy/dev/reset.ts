import { rmSync } from "node:fs";
import { layoutOf, STRIPPED_DIR } from "./layout.ts";
import { runCommand } from "./stack-error.ts";
import { withStackLock } from "./stack-lock.ts";
import { stopProcesses } from "./stop-stack.ts";

/** `make reset`: ends the stack and removes its data, keys and logs; unpacked servers stay. */
await runCommand(async () => {
  const layout = layoutOf();
  await withStackLock(layout, () => stopProcesses(layout));
  const { stackFile, runDir, logDir, dataDir, tlsDir, secretsFile, seedFile } = layout;
  const made = [stackFile, runDir, logDir, dataDir, tlsDir, secretsFile, seedFile];
  for (const path of [...made, `${logDir}.previous`, layout.receiverSecretsFile, STRIPPED_DIR]) {
    rmSync(path, { recursive: true, force: true });
  }
  process.stdout.write("the next make up starts from nothing\n");
});
