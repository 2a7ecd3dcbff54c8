/**
 * A file that grows by whole lines. On a full disk a write may be short, which only its return value shows, so every
 * return value is checked. An append either has all of its lines in the kernel when it returns, or throws and removes
 * the part that was written, if the disk allows.
 */
import { closeSync, ftruncateSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/** The mode of files that hold phone numbers. */
const OWNER_ONLY = 0o600;

/** An open file of lines. */
export type LineFile = {
  /** Appends lines. Throws when they are not all written; earlier lines stay. */
  append(lines: string): void;
  /** Replaces all lines atomically. Throws when it cannot, and keeps the old lines. */
  replace(lines: string): void;
  readonly bytes: number;
  close(): void;
};

/** Replaces the file at `path` by one with these lines, and opens it. */
export function openLineFile(path: string, lines: string): LineFile {
  let file = replaceFile(path, lines);
  /** The file may end with the partial line of a failed append. */
  let isTorn = false;

  function truncatePartialLine(): void {
    ftruncateSync(file.fd, file.bytes);
    isTorn = false;
  }

  return {
    append(text) {
      // Otherwise the next line would be glued to the partial one and lost with it.
      if (isTorn) truncatePartialLine();
      isTorn = true;
      try {
        file.bytes += writeWhole(file.fd, text);
        isTorn = false;
      } catch (error) {
        // If this fails too, the next append tries it again. A process that starts before that treats whole
        // lines of the partial write as written, which is safe.
        ignoreFailure(truncatePartialLine);
        throw error;
      }
    },
    replace(text) {
      const old = file.fd;
      file = replaceFile(path, text);
      isTorn = false;
      closeSync(old);
    },
    get bytes() {
      return file.bytes;
    },
    close: () => closeSync(file.fd),
  };
}

/** Writes a file under another name and renames it: readers see the old content or the new. */
export function writeFileWhole(path: string, text: string): void {
  closeSync(replaceFile(path, text).fd);
}

function replaceFile(path: string, text: string): { readonly fd: number; bytes: number } {
  const next = `${path}.next`;
  rmSync(next, { force: true });
  // Append mode, so that a write after a truncation goes to the new end and leaves no hole.
  const fd = openSync(next, "a", OWNER_ONLY);
  try {
    const bytes = writeWhole(fd, text);
    renameSync(next, path);
    return { fd, bytes };
  } catch (error) {
    closeSync(fd);
    // A partial file would only use the disk space that is missing.
    ignoreFailure(() => rmSync(next, { force: true }));
    throw error;
  }
}

/** Writes all octets and returns their number. The write after a short one throws its reason. */
function writeWhole(fd: number, text: string): number {
  const octets = Buffer.from(text);
  for (let at = 0; at < octets.length; ) {
    const count = writeSync(fd, octets, at);
    if (count === 0) throw new Error(`only ${at} of ${octets.length} octets were written`);
    at += count;
  }
  return octets.length;
}

function ignoreFailure(work: () => void): void {
  try {
    work();
  } catch {}
}
