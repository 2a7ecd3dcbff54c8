import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The folders that this process made. */
const folders: string[] = [];

/**
 * Makes an empty folder in the temporary directory. It is removed when this process exits, also after a test failed,
 * was filtered out, or ended the process. A large folder may be removed before.
 */
export function temporaryFolder(name: string): string {
  if (folders.length === 0) process.once("exit", removeFolders);
  const folder = mkdtempSync(join(tmpdir(), `sms-${name}-`));
  folders.push(folder);
  return folder;
}

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
