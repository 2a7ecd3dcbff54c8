/**
 * Scans the logs of processes for personal data and secrets: texts that a test names, in every form of a
 * log line, and anything with the form of a full number or a key.
 */

/** Something that must be in no log: a body, a number, a key; at least six characters. */
export type Forbidden = { readonly kind: string; readonly text: string };

/** A log line with forbidden content, and the content. */
export type Leak = { readonly kind: string; readonly line: string };

/** Patterns of secrets and full numbers. */
const LEAK_PATTERNS: readonly { readonly kind: string; readonly pattern: RegExp }[] = [
  { kind: "an E.164 number", pattern: /(?<![\w+.-])\+[1-9]\d{7,14}(?!\d|[:.]\d)/ },
  { kind: "a Nigerian number", pattern: /(?<![\w.+-])(?:234|0)[789][01]\d{8}(?!\w|\.\d)/ },
  { kind: "an API key", pattern: /\bsk_(?:live|test)_[\w-]{20,}/ },
  { kind: "a webhook secret", pattern: /\bwhsec_[\w+/=-]{8,}/ },
  { kind: "a bearer token", pattern: /\bbearer\s+(?!\[)[\w.~+/=-]{8,}/i },
  { kind: "a private key", pattern: /-----BEGIN [A-Z ]*PRIVATE KEY-----/ },
  { kind: "a password in an address", pattern: /\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/"]*:[^\s@/"]+@/i },
];

/** Indexes texts by their first characters, so that thousands cost as much as a few. */
const HEAD_LENGTH = 6;

/** Every line that holds a forbidden text or matches a pattern, once for each kind of leak. */
export function findLeaks(log: string, forbidden: readonly Forbidden[]): Leak[] {
  const byHead = indexByHead(forbidden);
  return log.split("\n").flatMap((line) => {
    const kinds = new Set(LEAK_PATTERNS.filter(({ pattern }) => pattern.test(line)).map(kindOf));
    if (byHead.size > 0) addKnown(line, byHead, kinds);
    return [...kinds].map((kind) => ({ kind, line }));
  });
}

/** A run of digits as long as a number, also after a plus sign in an address; no part of a name or fraction. */
const DIGITS = /(?:(?<![A-Za-z0-9]|\d\.)|(?<=%2[Bb]))\d{8,15}(?![A-Za-z0-9])/g;

/** Every line that contains one of these digit sequences, in any context. */
export function findDigits(log: string, kind: string, runs: ReadonlySet<string>): Leak[] {
  if (runs.size === 0) return [];
  return log
    .split("\n")
    .filter((line) => (line.match(DIGITS) ?? []).some((run) => runs.has(run)))
    .map((line) => ({ kind, line }));
}

function addKnown(line: string, byHead: Map<string, Forbidden[]>, kinds: Set<string>): void {
  for (let at = 0; at + HEAD_LENGTH <= line.length; at += 1) {
    const candidates = byHead.get(line.slice(at, at + HEAD_LENGTH));
    for (const { kind, text } of candidates ?? []) {
      if (line.startsWith(text, at)) kinds.add(kind);
    }
  }
}

function indexByHead(forbidden: readonly Forbidden[]): Map<string, Forbidden[]> {
  const byHead = new Map<string, Forbidden[]>();
  for (const { kind, text } of forbidden) {
    if (text.length < HEAD_LENGTH) throw new RangeError(`${kind}: too short to tell from chance`);
    for (const form of formsOf(text)) {
      const head = form.slice(0, HEAD_LENGTH);
      const others = byHead.get(head);
      if (others === undefined) byHead.set(head, [{ kind, text: form }]);
      else others.push({ kind, text: form });
    }
  }
  return byHead;
}

/** As it is, inside JSON (also JSON within JSON), in an address, in base64 and in octets. */
function formsOf(text: string): Set<string> {
  const inJson = JSON.stringify(text).slice(1, -1);
  const octets = Buffer.from(text, "utf8");
  return new Set([
    // Lines are scanned one by one, so the longest line of a text represents it.
    text.split("\n").reduce((longest, line) => (line.length > longest.length ? line : longest)),
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    encodeURIComponent(text),
    // The last characters of base64 depend on what follows.
    octets.toString("base64").replace(/=+$/, "").slice(0, -1),
    octets.toString("base64url").slice(0, -1),
    octets.toString("hex"),
    octets.toString("hex").toUpperCase(),
  ]);
}

function kindOf({ kind }: { readonly kind: string }): string {
  return kind;
}
