import { join } from "node:path";
import { diskUse } from "./disk-use.ts";
import { layoutOf, ROOT, SERVERS_DIR } from "./paths.ts";
import { runCommand } from "./stack-error.ts";

const MB = 1_000_000;

/** `make disk`: prints how much disk the packages, the servers and the stack take. */
await runCommand(async () => {
  const { dir } = layoutOf();
  const parts = [
    ["packages", join(ROOT, "node_modules"), []],
    ["servers", SERVERS_DIR, []],
    // The servers are inside the default folder of the stack.
    ["stack", dir, [SERVERS_DIR]],
  ] as const;
  const row = (name: string, bytes: number, place: string) =>
    process.stdout.write(
      `${name.padEnd(10)}${String(Math.ceil(bytes / MB)).padStart(6)} MB  ${place}\n`,
    );
  let total = 0;
  for (const [name, place, except] of parts) {
    const bytes = diskUse(place, except);
    total += bytes;
    row(name, bytes, place);
  }
  row("total", total, "");
});
