/**
 * Which values the chart's templates use, read from the templates themselves: `with` and assignments
 * are followed, so that `.enabled` inside `with .Values.a.b` counts as `a.b.enabled`. A component's
 * values (`defaults` under its own) are written as `~`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CHART } from "../../deploy/chart/layout.ts";

/** The values path of a variable or the dot; `undefined` when it is no value. */
type Place = { readonly kind: "root" | "component" } | { readonly kind: "value"; path: string };

const ROOT: Place = { kind: "root" };
const COMPONENT: Place = { kind: "component" };

/** Every template with its text. */
export function templateTexts(): (readonly [string, string])[] {
  const folder = join(CHART, "templates");
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(yaml|tpl|txt)$/.test(name))
    .sort()
    .map((name) => [name, readFileSync(join(folder, name), "utf8")] as const);
}

/** Distinct paths that templates use, except those used only by checks. */
export function templatePaths(): string[] {
  const texts = templateTexts().filter(([name]) => name !== "checks.yaml");
  return [...new Set(texts.flatMap(([, text]) => pathsOf(text)))].sort();
}

function pathsOf(text: string): string[] {
  const used: string[] = [];
  const dots: (Place | undefined)[] = [ROOT];
  const variables = new Map<string, Place | undefined>([["$", ROOT]]);
  for (const [, action = ""] of text.matchAll(
    /\{\{-?\s*((?:"[^"]*"|[^}"]|\}(?!\}))*?)\s*-?\}\}/g,
  )) {
    if (action.startsWith("/*")) continue;
    const [, keyword = "", rest = ""] = /^(\w+)?\s*(.*)$/s.exec(action) ?? [];
    const dot = dots.at(-1);
    const see = (expression: string) => used.push(...operandsOf(expression, dot, variables));
    const assignment = /^(\$\w+)\s*:?=\s*(.*)$/s.exec(action);
    if (assignment !== null) {
      const [, name = "", expression = ""] = assignment;
      const place = placeOf(name, expression, dot, variables);
      if (place === undefined) see(expression);
      variables.set(name, place);
    } else if (keyword === "with") {
      const place = placeOf("", rest, dot, variables);
      if (place === undefined) see(rest);
      dots.push(place);
    } else if (keyword === "range") {
      see(rest.replace(/^[$\w, ]+:=/, ""));
      dots.push(undefined);
    } else if (keyword === "define") {
      dots.push(rest.includes("ports") ? COMPONENT : ROOT);
    } else if (keyword === "if") {
      see(rest);
      dots.push(dot);
    } else if (keyword === "end") {
      dots.pop();
    } else {
      see(keyword === "else" ? rest.replace(/^if /, "") : action);
    }
  }
  return used;
}

const OPERAND = /(?<![\w.")$])(\$\w*)?((?:\.\w+)+)/g;
/** A variable or the dot taken as it is. */
const WHOLE = /(?<![\w.")$])(?:(\$\w+)|\.)(?![\w.])/g;

function operandsOf(
  expression: string,
  dot: Place | undefined,
  variables: ReadonlyMap<string, Place | undefined>,
): string[] {
  const bare = expression.replace(/"[^"]*"/g, '""');
  const members = [...bare.matchAll(OPERAND)].map(([, variable, path = ""]) =>
    follow(variable === undefined ? dot : variables.get(variable), path.slice(1).split(".")),
  );
  const whole = [...bare.matchAll(WHOLE)].map(([, variable]) =>
    follow(variable === undefined ? dot : variables.get(variable), []),
  );
  return [...members, ...whole].filter(
    (path): path is string => path !== undefined && path !== "" && path !== "~",
  );
}

/** The path that members of a place lead to, or nothing when they leave the values. */
function follow(place: Place | undefined, members: readonly string[]): string | undefined {
  if (place === undefined) return undefined;
  if (place.kind === "value") return [place.path, ...members].filter((one) => one !== "").join(".");
  const [first, ...others] = members;
  // Definitions that take a dictionary get the root under this name.
  if (place.kind === "root" && first === "root") return follow(place, others);
  if (place.kind === "root") return first === "Values" ? others.join(".") : undefined;
  return first === "values" ? ["~", ...others].join(".") : undefined;
}

/** The path that an expression names when it only names a path. */
function placeOf(
  name: string,
  expression: string,
  dot: Place | undefined,
  variables: ReadonlyMap<string, Place | undefined>,
): Place | undefined {
  const text = expression.trim();
  if (text.startsWith('include "sms.component"')) return COMPONENT;
  if (text === "index . 0") return name === "$c" ? COMPONENT : ROOT;
  if (text === "index . 1") return name === "$c" ? COMPONENT : undefined;
  if (name === "$merged") return { kind: "value", path: "~" };
  if (name === "$c" && text === ".") return COMPONENT;
  const operand = /^(\$\w*)?((?:\.\w+)+)$/.exec(text);
  if (operand === null) return undefined;
  const [, variable, members = ""] = operand;
  const place = variable === undefined ? dot : variables.get(variable);
  const path = follow(place, members.slice(1).split("."));
  return path === undefined ? undefined : { kind: "value", path };
}
