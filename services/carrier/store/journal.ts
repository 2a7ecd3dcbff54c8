/**
 * The journal of a carrier process as an append-only file.
 *
 * The kernel has a line before the socket gets the octets, so lines survive every death of the process. They are not
 * synced to the disk: a power failure may lose the end of the file. Therefore the boot id is part of the identity,
 * and after a reboot everything that was claimed is in doubt.
 *
 * The journal also gives the process its identity: claims belong to this file. A process without a journal (a lost
 * volume) gets a new identity. The claims of the old one then miss their heartbeat and messaging puts them in doubt;
 * an empty journal must not say that nothing was written.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Journal } from "../app/ports.ts";
import {
  type JournalEntry,
  notePart,
  partLine,
  readOpenEntries,
  refusedLine,
  settledLine,
  writtenLines,
} from "../domain/journal-lines.ts";
import { openLineFile, writeFileWhole } from "./append-only-file.ts";

/** The size in bytes beyond which the file is compacted. */
const COMPACT_BYTES = 16 * 1024 * 1024;

/** Opens the journal of a carrier id in a folder and locks the folder. Throws when another process has the lock. */
export async function openJournal(options: {
  readonly dir: string;
  readonly carrierId: string;
  readonly bootId?: string;
}): Promise<Journal> {
  const dir = join(options.dir, options.carrierId);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  restrictFolder(dir);
  const release = await lockFolder(dir);
  const bootId = options.bootId ?? readBootId();
  const { carrierId, start } = takeIdentity(dir, options.carrierId, bootId);
  const path = join(dir, `${carrierId}.journal`);
  const earlier = earlierJournals(dir, path);
  const orphaned = readOrphans(earlier);
  const inherited = readOpenEntries(readIfThere(path));
  const open = new Map(inherited);
  const file = openLineFile(path, openLines());

  function openLines(): string {
    return [...open.values()].map(writtenLines).join("");
  }

  function markReported(entries: readonly JournalEntry[]): void {
    const current = entries.filter((entry) => open.get(entry.messageId) === entry);
    for (const { messageId } of current) open.delete(messageId);
    if (current.length > 0) {
      file.append(current.map(({ messageId }) => settledLine(messageId)).join(""));
    }
    // 400 bytes are twice an entry, so that a large window does not compact at every line.
    if (file.bytes > COMPACT_BYTES && file.bytes > open.size * 400) file.replace(openLines());
  }

  return {
    carrierId,
    start,
    inherited,
    orphaned,
    append(entries, parts = []) {
      file.append([...entries.map(writtenLines), ...parts.map(partLine)].join(""));
      for (const entry of entries) open.set(entry.messageId, entry);
      for (const { messageId, index } of parts) notePart(open.get(messageId), false, index);
    },
    markRefused(part) {
      const entry = open.get(part.messageId);
      if (entry?.refused === undefined) return;
      file.append(refusedLine(part));
      notePart(entry, true, part.index);
    },
    entryOf: (messageId) => open.get(messageId),
    markReported,
    markSettled: (messageIds) => markReported(messageIds.flatMap((id) => open.get(id) ?? [])),
    removeEarlier() {
      for (const journal of earlier) rmSync(journal, { force: true });
    },
    get open() {
      return open.size;
    },
    close() {
      file.close();
      release();
    },
  };
}

/**
 * Restricts the folder to its owner: the journal holds phone numbers. A folder of another owner, such as a mounted
 * volume, keeps its mode.
 */
function restrictFolder(dir: string): void {
  try {
    chmodSync(dir, 0o700);
  } catch {}
}

function earlierJournals(dir: string, ownPath: string): string[] {
  const paths = readdirSync(dir).map((name) => join(dir, name));
  return paths.filter((path) => path.endsWith(".journal") && path !== ownPath);
}

function readOrphans(paths: readonly string[]): Map<string, JournalEntry> {
  return new Map(paths.flatMap((path) => [...readOpenEntries(readIfThere(path))]));
}

/**
 * Reads or creates the identity file, `<identity> <boot id> <starts>`. After a reboot, or when the journal of the
 * identity is gone, the process gets a new identity.
 */
function takeIdentity(
  dir: string,
  name: string,
  bootId: string,
): { readonly carrierId: string; readonly start: number } {
  const path = join(dir, "identity");
  const [known = "", boot, starts = "0"] = readIfThere(path).trim().split(" ");
  const isKnown = known !== "" && boot === bootId && existsSync(join(dir, `${known}.journal`));
  const carrierId = isKnown ? known : `${name}.${randomBytes(6).toString("hex")}`;
  const start = isKnown ? Number(starts) + 1 : 1;
  writeFileWhole(path, `${carrierId} ${bootId} ${start}\n`);
  return { carrierId, start };
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

/** The id of this boot of the machine (proc(5)); constant where the file does not exist. */
function readBootId(): string {
  return readIfThere("/proc/sys/kernel/random/boot_id").trim() || "unknown";
}

/**
 * Locks a folder while this process lives. A Unix socket in Linux's abstract namespace (unix(7)) disappears with its
 * process, so no stale lock remains.
 */
async function lockFolder(dir: string): Promise<() => void> {
  if (process.platform !== "linux") return () => undefined;
  const name = createHash("sha256").update(realpathSync(dir)).digest("hex").slice(0, 40);
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const text = "another carrier process runs with this CARRIER_ID and CARRIER_JOURNAL_DIR";
      reject(error.code === "EADDRINUSE" ? new Error(text, { cause: error }) : error);
    });
    server.listen({ path: `\0sms-carrier-${name}` }, resolve);
  });
  server.unref();
  return () => void server.close();
}
