/**
 * Messages that this process wrote last, as they are stored: what is changed again within seconds
 * (accepted, claimed, sent, delivered) need not be read again. Nothing here is believed without
 * proof. A write on the strength of it names the revision it replaces, and where the database has
 * another one, nothing is written and the message is read (`docs/adr/0083-write-through-cache-of-recent-messages.md`).
 */
import { setRecent } from "../../shared/flow/lru.ts";
import type { MessageDocument } from "./documents.ts";

/** The memory of one process. */
export type WriteCache = {
  /** What is remembered of these messages, and stays so. */
  look(ids: readonly string[]): Map<string, MessageDocument>;
  /** The same, and forgets it: who writes notes what was written when that is certain. */
  take(ids: readonly string[]): Map<string, MessageDocument>;
  /** Remembers documents, with int64 as it is to be written again, unless later revisions are known. */
  note(documents: readonly MessageDocument[]): void;
  /**
   * To be told when it was wrong: another replica changes the same messages. It is of no use then,
   * since each error costs more than some reads, and is empty for a while.
   */
  distrust(): void;
};

/** Messages under way at some thousand a second, for several seconds: some 20 MB. */
const MAX = 8192;
/** How long it stays empty after an error. */
const DISTRUST_MS = 2000;

/** Makes an empty memory. */
export function createRemembered(nowMs: () => number = () => performance.now()): WriteCache {
  const documents = new Map<string, MessageDocument>();
  let distrustedUntilMs = Number.NEGATIVE_INFINITY;

  function look(ids: readonly string[]): Map<string, MessageDocument> {
    const found = new Map<string, MessageDocument>();
    for (const id of ids) {
      const document = documents.get(id);
      if (document !== undefined) found.set(id, document);
    }
    return found;
  }

  return {
    look,
    take(ids) {
      const found = look(ids);
      for (const id of found.keys()) documents.delete(id);
      return found;
    },
    note(written) {
      if (nowMs() < distrustedUntilMs) return;
      for (const document of written) {
        const known = documents.get(document._id);
        if (known !== undefined && known.revision > document.revision) continue;
        setRecent(documents, document._id, document, MAX);
      }
    },
    distrust() {
      documents.clear();
      distrustedUntilMs = nowMs() + DISTRUST_MS;
    },
  };
}
