/**
 * A file that grows by whole lines. A full disk takes the beginning of a write and says so by its
 * count alone, so every count is looked at: an append either has all of its lines in the kernel when
 * it answers, or throws and leaves none of them behind, as far as the disk lets it.
 */
import { closeSync, ftruncateSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/** A running file of lines. */
export type LineFile = {
  /** Adds lines. Throws when they are not all written; what came before them stands. */
  append(lines: string): void;
  /** Puts these lines in the place of all others. Throws, with the old ones in place, when it cannot. */
  replace(lines: string): void;
  readonly bytes: number;
  close(): void;
};

/** Begins a file with these lines, in the place of what it held. */
export function openLineFile(path: string, lines: string): LineFile {
  let file = writeAnew(path, lines);
  /** The file may end in the stump of an append that failed. */
  let isTorn = false;

  function cutStump(): void {
    ftruncateSync(file.fd, file.bytes);
    isTorn = false;
  }

  return {
    append(text) {
      // Behind a stump the next line would be a part of it, and lost with it.
      if (isTorn) cutStump();
      isTorn = true;
      try {
        file.bytes += writeWhole(file.fd, text);
        isTorn = false;
      } catch (error) {
        // If not even this works, the next append begins with it; a process that starts meanwhile
        // takes a whole line of the stump for written, which is the safe side.
        ignoreFailure(cutStump);
        throw error;
      }
    },
    replace(text) {
      const old = file.fd;
      file = writeAnew(path, text);
      isTorn = false;
      closeSync(old);
    },
    get bytes() {
      return file.bytes;
    },
    close: () => closeSync(file.fd),
  };
}

/** Writes a whole file under another name and then gives it its own: readers see the old or the new. */
export function writeFileWhole(path: string, text: string): void {
  closeSync(writeAnew(path, text).fd);
}

function writeAnew(path: string, text: string): { readonly fd: number; bytes: number } {
  const next = `${path}.next`;
  rmSync(next, { force: true });
  // For appending, so that a write after a cut goes to the end and leaves no hole.
  const fd = openSync(next, "a");
  try {
    const bytes = writeWhole(fd, text);
    renameSync(next, path);
    return { fd, bytes };
  } catch (error) {
    closeSync(fd);
    // Half a file would only hold the room that is missing.
    ignoreFailure(() => rmSync(next, { force: true }));
    throw error;
  }
}

/** Writes all octets and answers how many; the write after a short one says why it was short. */
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
