import { SNAPSHOT } from "../../shared/io/snapshot.ts";
import type { ListPage } from "../app/ports.ts";
import type { Message } from "../domain/message.ts";
import { fromDocument, type MessageDocument } from "./documents.ts";

/** Options of each read of a page. A slower read is aborted, so that it does not slow other requests. */
export const READ_OPTIONS = { maxTimeMS: 5000, readConcern: SNAPSHOT } as const;

/**
 * The most text on a page without its first message, in bytes of UTF-8 at worst. A rejected recipient is stored as
 * given, which can be long; a hundred of them exceed the limits of a response.
 */
const PAGE_TEXT_MAX = 3 * 1024 * 1024;

/** A page that is being read. */
type PageReader = {
  /** How many more documents to read: those that the page lacks, and one that shows whether more follow. */
  readonly room: number;
  /** Adds documents; true when the page is full and more follow. */
  fill(documents: AsyncIterable<MessageDocument>): Promise<boolean>;
  result(hasMore: boolean, nextBeforeId?: string): ListPage;
};

/** A page of at most `size` messages. */
export function createPage(size: number): PageReader {
  const messages: Message[] = [];
  let textBytes = 0;
  return {
    get room() {
      return size + 1 - messages.length;
    },
    async fill(documents) {
      for await (const document of documents) {
        textBytes += 3 * (document.body.length + document.to.length);
        const isLong = messages.length > 0 && textBytes > PAGE_TEXT_MAX;
        if (messages.length === size || isLong) return true;
        messages.push(fromDocument(document));
      }
      return false;
    },
    result: (hasMore, nextBeforeId) => ({ messages, hasMore, nextBeforeId }),
  };
}
