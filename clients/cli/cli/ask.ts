import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { EXIT } from "../../../services/shared/cli/exit-codes.ts";

/** Asks on the terminal. A hidden answer is not shown while it is typed. */
export async function ask(
  question: string,
  { isHidden }: { readonly isHidden: boolean },
): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({
    input: process.stdin,
    output: isHidden ? silent : process.stderr,
    terminal: true,
  });
  // The reader takes Ctrl-C in place of the process.
  reader.once("SIGINT", () => {
    process.stderr.write("\n");
    process.exit(EXIT.interrupted);
  });
  try {
    if (!isHidden) return (await reader.question(question)).trim();
    // After the reader has turned the terminal's own echo off, so that a key that is typed early is not shown.
    process.stderr.write(question);
    return (await reader.question("")).trim();
  } finally {
    reader.close();
    if (isHidden) process.stderr.write("\n");
  }
}
