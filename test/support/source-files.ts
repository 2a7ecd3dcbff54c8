import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { ROOT } from "../../deploy/dev/paths.ts";

/** One text file of the repository. */
export type SourceFile = { readonly path: string; readonly text: string };

const BINARY = /\.(png|jpg|ico|br|gz|tgz|woff2?)$/;

/** Every file that is, or is about to be, in version control. */
export function repositoryFiles(): SourceFile[] {
  const names = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 64_000_000,
  });
  return [...new Set(names.split("\0"))]
    .filter((path) => path !== "" && !BINARY.test(path))
    .filter((path) => existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isFile())
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

const STATIC_IMPORT =
  /^(?:import\s+(?:[^;"']*?\sfrom\s+)?|export\s+(?:type\s+)?[{*][^;"']*?\sfrom\s+)["']([^"']+)["']/gm;
const DYNAMIC_IMPORT = /\bimport\(\s*["']([^"']+)["']/g;

/** The paths and packages that a TypeScript file imports; relative ones as paths from the root. */
export function importsOf({ path, text }: SourceFile): string[] {
  const found = [...text.matchAll(STATIC_IMPORT), ...text.matchAll(DYNAMIC_IMPORT)];
  return found
    .map((match) => match[1] ?? "")
    .map((name) => (name.startsWith(".") ? normalize(join(dirname(path), name)) : name));
}

/** A function's first line (from 1), and its length without the named functions inside it. */
export type FunctionSpan = { readonly line: number; readonly lines: number };

/**
 * The functions of a file, found by the indentation that the formatter guarantees: a block that is
 * opened at the end of a line is closed by the next `}` at the indentation of that line. A factory
 * that only holds the functions it returns counts without them.
 */
export function functionsOf(text: string): FunctionSpan[] {
  const lines = text.split("\n");
  const spans = lines.flatMap((line, at) => {
    if (!opensFunction(lines, at)) return [];
    const end = lines.findIndex(
      (next, place) => place > at && /^\s*\}/.test(next) && indentOf(next) === indentOf(line),
    );
    const begin = line.trimStart().startsWith(")") ? startOfSignature(lines, at) : at;
    return [{ begin, end, isNamed: NAMED.test(lines[begin] ?? "") }];
  });
  return spans.map((span) => {
    const inside = spans.filter(({ begin, end }) => begin > span.begin && end < span.end);
    const own = Array.from(
      { length: span.end - span.begin + 1 },
      (_, at) => span.begin + at,
    ).filter(
      (at) => !inside.some(({ begin, end, isNamed }) => isNamed && begin <= at && at <= end),
    );
    return { line: span.begin + 1, lines: own.length };
  });
}

const NAMED = /\bfunction\b|^\s*(const [\w$]+ = |[\w$]+: |(async |get |set |\*)*[\w$]+\()/;
const NO_FUNCTION =
  /^\s*(\}\s*)?(else|if|for|while|switch|try|catch|finally|do|class|export class|case|default)\b/;
const TEST_BLOCK = /^\s*(describe|context|suite)(\.\w+)?\(/;

function opensFunction(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? "";
  if (!line.endsWith("{") || NO_FUNCTION.test(line) || TEST_BLOCK.test(line)) return false;
  if (/=> \{$/.test(line) || /\bfunction\b/.test(line)) return true;
  if (/^\s*\)(: .+)? \{$/.test(line)) {
    return !NO_FUNCTION.test(lines[startOfSignature(lines, at)] ?? "");
  }
  return /^\s*(static |async |get |set |override |private |readonly |\*)*#?[\w$]+(<.*>)?\(.*\)(: .+)? \{$/.test(
    line,
  );
}

function startOfSignature(lines: readonly string[], at: number): number {
  const indent = indentOf(lines[at] ?? "");
  for (let line = at - 1; line >= 0; line--) {
    const text = lines[line] ?? "";
    if (text.trim() !== "" && indentOf(text) <= indent) return line;
  }
  return at;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
