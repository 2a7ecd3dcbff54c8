import { closestMatch } from "leven";

/** Names that other services use, and ours. Too far apart to be found by their spelling. */
const SYNONYMS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    message: ["body", "messages"],
    text: ["body"],
    content: ["body"],
    recipient: ["to", "number"],
    recipients: ["to", "messages"],
    phone: ["to", "number"],
    phone_number: ["to", "number"],
    msisdn: ["to", "number"],
    numbers: ["to"],
    sender: ["from"],
    sender_id: ["from"],
    reference: ["client_reference"],
    schedule_at: ["send_at"],
    scheduled_at: ["send_at"],
    page_size: ["limit"],
    page: ["cursor"],
  }),
);

/** A longer name is no misspelt one; comparing it would only take time. */
const CHARS_MAX = 64;

/**
 * The word that was probably meant: the same in another case or notation (`sendAt`), one with a few other letters, or
 * a synonym. Undefined when no word is near.
 */
export function nearestWord(given: string, words: readonly string[]): string | undefined {
  if (given.length > CHARS_MAX) return undefined;
  const plain = snakeCase(given);
  const same = words.find((word) => snakeCase(word) === plain);
  // `form` for `from`: two letters in the other order are two edits, which is too many for a short word.
  const swapped = words.find((word) => lettersOf(word) === lettersOf(plain));
  if (same !== undefined || swapped !== undefined) return same ?? swapped;
  const maxDistance = Math.min(3, Math.max(1, Math.floor(plain.length / 3)));
  const near = closestMatch(plain, words, { maxDistance });
  return near ?? SYNONYMS.get(plain)?.find((word) => words.includes(word));
}

function lettersOf(word: string): string {
  return [...word].sort().join("");
}

function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/[\s-]+/g, "_")
    .toLowerCase();
}
