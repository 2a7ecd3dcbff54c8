import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The unit of `st_blocks` in stat(2), on every file system. */
const BLOCK_BYTES = 512;

/** The bytes that a folder takes on disk, as `du` counts them: a file with several names once; 0 for no folder. */
export function diskUse(folder: string, except: readonly string[] = []): number {
  const seen = new Set<number>();
  let bytes = 0;
  const add = (path: string): void => {
    if (except.includes(path)) return;
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || seen.has(found.ino)) return;
    seen.add(found.ino);
    bytes += found.blocks * BLOCK_BYTES;
    if (found.isDirectory()) for (const name of readdirSync(path)) add(join(path, name));
  };
  add(folder);
  return bytes;
}
