/**
 * The journal of a carrier process: which messages' octets may have reached a carrier. It answers
 * one question after a crash: what was never written, and may go to another carrier at once?
 *
 * Lines are handed to the kernel before the socket gets the octets, so they outlive the process,
 * however it dies. They are not forced to the disk: when the machine itself loses power, the tail
 * of the file may be gone, so a machine that was rebooted treats everything it had claimed as in
 * doubt (the boot id is part of the identity below).
 *
 * The journal also gives the process its identity: claims belong to this file. A process that
 * finds no journal (a lost volume) is somebody new; the claims of the old one fall silent, and
 * messaging calls them in doubt, instead of taking a blank page for "nothing was written".
 */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import {
  type JournalEntry,
  readOpenEntries,
  settledLine,
  writtenLine,
} from "../domain/journal-lines.ts";
import { openLineFile, writeFileWhole } from "./append-only-file.ts";

/** A running journal. */
export type Journal = {
  /** `<CARRIER_ID>.<random>`: the same for as long as the file lives. */
  readonly carrierId: string;
  /** How often a process has begun with this identity, this one included. */
  readonly start: number;
  /** What an earlier process wrote and never saw settled; read once at the start. */
  readonly inherited: ReadonlyMap<string, JournalEntry>;
  /** The same of earlier identities: in doubt already, kept only for receipts that still come. */
  readonly orphaned: ReadonlyMap<string, JournalEntry>;
  /** Notes messages before their octets leave; synchronous, one write. Throws when it cannot. */
  noteWritten(entries: readonly JournalEntry[]): void;
  /**
   * The line of a message as it stands now: the one that an outcome made now is about. A message is
   * claimed anew only after its outcome was reported, so it cannot be the line of a later claim.
   */
  lineOf(messageId: string): JournalEntry | undefined;
  /**
   * Notes that what became of these very lines is known to messaging. A line that a later claim of its
   * message has replaced meanwhile stays open: the octets of that claim may have left.
   * Throws when it cannot be written, which is safe: after a crash messaging is asked about the message
   * once more, and as it has the outcome, it leaves it as it is; were it claimed anew and not yet
   * written, it would be called in doubt, and never submitted twice.
   */
  noteReported(lines: readonly JournalEntry[]): void;
  /** The same of whatever lines these messages have: right only before anything new is claimed. */
  noteSettled(messageIds: readonly string[]): void;
  /** Removes the journals of earlier identities, once what they say is kept elsewhere. */
  forgetEarlier(): void;
  /** Messages written and not settled. */
  readonly open: number;
  close(): void;
};

/** The file is written anew when it has grown past this. */
const COMPACT_BYTES = 16 * 1024 * 1024;

/**
 * Opens the journal of a carrier id in a folder, and holds the folder against other processes.
 * Throws when another one has it.
 */
export async function openJournal(options: {
  readonly dir: string;
  readonly carrierId: string;
  readonly bootId?: string;
}): Promise<Journal> {
  const dir = join(options.dir, options.carrierId);
  mkdirSync(dir, { recursive: true });
  const release = await holdFolder(dir);
  const bootId = options.bootId ?? readBootId();
  const { carrierId, start } = takeIdentity(dir, options.carrierId, bootId);
  const path = join(dir, `${carrierId}.journal`);
  const earlier = earlierJournals(dir, path);
  const orphaned = readOrphans(earlier);
  const inherited = readOpenEntries(readIfThere(path));
  const open = new Map(inherited);
  const file = openLineFile(path, openLines());

  function openLines(): string {
    return [...open.values()].map(writtenLine).join("");
  }

  function noteReported(lines: readonly JournalEntry[]): void {
    const standing = lines.filter((line) => open.get(line.messageId) === line);
    for (const { messageId } of standing) open.delete(messageId);
    if (standing.length > 0) {
      file.append(standing.map(({ messageId }) => settledLine(messageId)).join(""));
    }
    // Twice what must be kept, so that a large window does not compact at every line.
    if (file.bytes > COMPACT_BYTES && file.bytes > open.size * 400) file.replace(openLines());
  }

  return {
    carrierId,
    start,
    inherited,
    orphaned,
    noteWritten(entries) {
      file.append(entries.map(writtenLine).join(""));
      for (const entry of entries) open.set(entry.messageId, entry);
    },
    lineOf: (messageId) => open.get(messageId),
    noteReported,
    noteSettled: (messageIds) => noteReported(messageIds.flatMap((id) => open.get(id) ?? [])),
    forgetEarlier() {
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

function earlierJournals(dir: string, ownPath: string): string[] {
  const paths = readdirSync(dir).map((name) => join(dir, name));
  return paths.filter((path) => path.endsWith(".journal") && path !== ownPath);
}

function readOrphans(paths: readonly string[]): Map<string, JournalEntry> {
  return new Map(paths.flatMap((path) => [...readOpenEntries(readIfThere(path))]));
}

/**
 * Identity files hold `<identity> <boot id> <starts>`; another boot is another identity. So is one whose
 * journal is gone: what it had written is not known any more, and a blank page must not speak for it.
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

/** Tells one boot of the machine from the next (proc(5)); constant where there is no such file. */
function readBootId(): string {
  return readIfThere("/proc/sys/kernel/random/boot_id").trim() || "unknown";
}

/**
 * Holds a folder for as long as this process lives: a Unix socket in Linux's abstract namespace
 * (unix(7)) vanishes with its process, so there is no stale lock to clean up.
 */
async function holdFolder(dir: string): Promise<() => void> {
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
