/** Reads `values.yaml` with the comments above its keys, the source of the schema and the README. */
import { isAlias, isMap, isScalar, LineCounter, type Node, parse, parseDocument } from "yaml";
import { kubernetesShape } from "./kubernetes-types.ts";

/** JSON Schema keywords as data. */
export type Keywords = Readonly<Record<string, unknown>>;

/** One key of `values.yaml`. */
export type ValueKey = {
  readonly name: string;
  /** From the root, with dots. */
  readonly path: string;
  readonly description: string;
  /** Keywords from `@schema` or `@kubernetes`, if any. */
  readonly keywords: Keywords | undefined;
  /** Opened by `@section` above this key. */
  readonly section: string | undefined;
  /** From `@component`: the service whose settings it takes. */
  readonly component: string | undefined;
  readonly isDeprecated: boolean;
  /** From `@open`: a map that may hold unknown keys. */
  readonly isOpen: boolean;
  readonly value: unknown;
  /** Keys of a map; empty for everything else. */
  readonly children: readonly ValueKey[];
};

/** Reads the text of a values file; throws when a tag is unknown. */
export function readValuesTree(text: string): ValueKey[] {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  const lines = text.split("\n");

  function keysOf(node: unknown, prefix: string): ValueKey[] {
    const map = isAlias(node) ? node.resolve(document) : node;
    if (!isMap(map)) return [];
    return map.items.map(({ key, value }) => {
      if (!isScalar(key) || key.range == null) throw new Error(`a key of ${prefix} is no text`);
      const name = String(key.value);
      const path = prefix === "" ? name : `${prefix}.${name}`;
      const comment = commentAbove(lines, lineCounter.linePos(key.range[0]).line - 1, path);
      return {
        name,
        path,
        ...comment,
        value: isNode(value) ? value.toJS(document) : value,
        children: keysOf(value, path),
      };
    });
  }
  return keysOf(document.contents, "");
}

/** The paths of all keys of a values file, sorted. */
export function valuePaths(text: string): string[] {
  const all = (keys: readonly ValueKey[]): string[] =>
    keys.flatMap(({ path, children }) => [path, ...all(children)]);
  return all(readValuesTree(text)).sort();
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "toJS" in value;
}

type Comment = Pick<
  ValueKey,
  "description" | "keywords" | "section" | "component" | "isDeprecated" | "isOpen"
>;

/** The comment lines directly above a line, of the same indentation, as description and tags. */
function commentAbove(lines: readonly string[], line: number, path: string): Comment {
  const indentation = /^ */.exec(lines[line] ?? "")?.[0] ?? "";
  const start = `${indentation}# `;
  let first = line;
  while (first > 0 && lines[first - 1]?.startsWith(start)) first -= 1;
  const texts = lines.slice(first, line).map((text) => text.slice(start.length));
  const tags = new Map<string, string>();
  for (const text of texts.filter((one) => one.startsWith("@"))) {
    const [, tag = "", rest = ""] = /^@(\w+) ?(.*)$/.exec(text) ?? [];
    if (!["schema", "kubernetes", "section", "component", "deprecated", "open"].includes(tag)) {
      throw new Error(`${path}: unknown tag @${tag}`);
    }
    tags.set(tag, rest);
  }
  return {
    description: texts.filter((one) => !one.startsWith("@")).join(" "),
    keywords: keywordsOf(tags),
    section: tags.get("section"),
    component: tags.get("component"),
    isDeprecated: tags.has("deprecated"),
    isOpen: tags.has("open"),
  };
}

/** The keywords of `@schema`, or the schema that `@kubernetes` names. */
function keywordsOf(tags: ReadonlyMap<string, string>): Keywords | undefined {
  const shape = tags.get("kubernetes");
  if (shape !== undefined) return kubernetesShape(shape);
  const schema = tags.get("schema");
  return schema === undefined ? undefined : (parse(schema) as Keywords);
}
