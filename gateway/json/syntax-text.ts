/** The sentence that says where a text stops being JSON, and what to write there. */

/** Searches at most this many characters for the first token that JSON does not have. */
const SEARCHED_CHARS_MAX = 65_536;

/** Tokens of JSON, with the white space before them. */
const TOKEN =
  /\s*("(?:[^"\\]|\\.){0,4096}"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)\b|[{}[\]:,])/y;

/** A body that a form, or curl without `Content-Type`, would send. */
const FORM = /^[\w.%[\]-]+=/;

/** The error of `JSON.parse` for this text, as one sentence for people. */
export function jsonSyntaxText(text: string, error: unknown): string {
  const trimmed = text.trim();
  if (trimmed === "") return "The body is empty. Send the fields in it, as a JSON object.";
  if (FORM.test(trimmed))
    return 'The body is a form, not JSON. Send a JSON object, such as {"to": "+2348031234567"}.';
  const found = error instanceof Error ? error.message : "";
  const at = Number(/ at position (\d+)/.exec(found)?.[1] ?? badToken(text));
  if (!(at < text.length) || /^Unterminated string|^Unexpected end/.test(found)) {
    return "The JSON is not complete: a quote, bracket or brace is not closed.";
  }
  return `${advice(found, text, at)} (${placeOf(text, at)}).`;
}

function advice(found: string, text: string, at: number): string {
  const character = text[at] ?? "";
  const before = text.slice(0, at).trimEnd().at(-1);
  if (before === "," && (character === "}" || character === "]")) {
    return `The body is not valid JSON: remove the comma before ${character}`;
  }
  if (found.startsWith("Expected ':'")) return "The body is not valid JSON: a colon is missing";
  if (/property name/.test(found)) {
    return "The body is not valid JSON: names of fields must be in double quotes";
  }
  if (found.startsWith("Expected ',' or")) return "The body is not valid JSON: a comma is missing";
  if (found.startsWith("Bad control character")) {
    return "The body is not valid JSON: write a line break inside a text as \\n";
  }
  if (found.startsWith("Bad escaped character")) {
    return "The body is not valid JSON: write a backslash inside a text as \\\\";
  }
  if (/^[\p{L}'‘’“”+]/u.test(character)) {
    return "The body is not valid JSON: texts must be in double quotes";
  }
  return "The body is not valid JSON";
}

/** Where the first word is that JSON cannot have there; `NaN` when there is none, as in an incomplete text. */
function badToken(text: string): number {
  const searched = text.slice(0, SEARCHED_CHARS_MAX);
  let end = 0;
  let before = "";
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(searched); found !== null; found = TOKEN.exec(searched)) {
    const [token = "", word = ""] = found;
    end = TOKEN.lastIndex;
    if (/[,:]/.test(before) && /^[\]},:]/.test(word)) return end - word.length;
    before = token.endsWith('"') ? "" : word;
  }
  const at = searched.slice(end).search(/\S/);
  return at < 0 ? Number.NaN : end + at;
}

function placeOf(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
