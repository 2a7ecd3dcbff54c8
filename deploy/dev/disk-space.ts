import { existsSync, statfsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type Layout, SERVERS_DIR } from "./paths.ts";
import { StackError } from "./stack-error.ts";

const MB = 1_000_000;

/** The journal and collections of a new mongod, streams, logs. */
const NEW_DATA_BYTES = 150 * MB;
/** The wheels of the servers and their programs, both while they are unpacked. */
const SERVERS_BYTES = 400 * MB;
/** For what a run adds. */
const RUN_BYTES = 100 * MB;

/** Throws one line when the stack would fill the disk: a server on a full disk ends in the middle of its work. */
export function requireDiskSpace(layout: Layout, hasOwnServers: boolean): void {
  const isNew = !existsSync(join(layout.dataDir, "mongod"));
  const needed = RUN_BYTES + (hasOwnServers && isNew ? NEW_DATA_BYTES : 0);
  requireFree(layout.dir, needed);
  if (hasOwnServers && !existsSync(SERVERS_DIR)) requireFree(SERVERS_DIR, needed + SERVERS_BYTES);
}

/** Throws one line unless the disk of a folder, which need not exist yet, has so much space. */
export function requireFree(folder: string, bytes: number): void {
  let existing = resolve(folder);
  while (!existsSync(existing)) existing = dirname(existing);
  const { bavail, bsize } = statfsSync(existing);
  if (bavail * bsize >= bytes) return;
  throw new StackError(
    `the disk of ${existing} is full: ${Math.floor((bavail * bsize) / MB)} MB are free and ` +
      `${Math.ceil(bytes / MB)} MB are needed; free some, or name another place: STACK_DIR=/elsewhere make up`,
  );
}
