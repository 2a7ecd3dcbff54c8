/** Bodies with `{{placeholders}}`; values are inserted once and never expanded again. */

/** A parsed body: literal texts and the names between them. */
export type Template = {
  readonly parts: readonly ({ readonly text: string } | { readonly name: string })[];
  readonly names: ReadonlySet<string>;
};

/** Characters of a placeholder's name, without the white space around it. */
export const NAME_CHARS_MAX = 64;

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/** Parses a body; returns the first piece of text with braces that is not a placeholder. */
export function parseTemplate(body: string): Template | { readonly fault: string } {
  const parts: Template["parts"][number][] = [];
  const names = new Set<string>();
  let end = 0;
  for (const match of body.matchAll(PLACEHOLDER)) {
    const literal = body.slice(end, match.index);
    const name = (match[1] ?? "").trim();
    if (name === "" || name.length > NAME_CHARS_MAX) return { fault: match[0].slice(0, 80) };
    const fault = findBraces(literal);
    if (fault !== undefined) return { fault };
    if (literal !== "") parts.push({ text: literal });
    parts.push({ name });
    names.add(name);
    end = match.index + match[0].length;
  }
  const rest = body.slice(end);
  const fault = findBraces(rest);
  if (fault !== undefined) return { fault };
  if (rest !== "") parts.push({ text: rest });
  return { parts, names };
}

/** Expands a body for one row; returns the first name without a value. */
export function expandTemplate(
  template: Template,
  variables: Readonly<Record<string, string>>,
): { readonly body: string } | { readonly missing: string } {
  let body = "";
  for (const part of template.parts) {
    if ("text" in part) body += part.text;
    else if (Object.hasOwn(variables, part.name)) body += variables[part.name];
    else return { missing: part.name };
  }
  return { body };
}

function findBraces(literal: string): string | undefined {
  const at = literal.search(/\{\{|\}\}/);
  return at === -1 ? undefined : literal.slice(at, at + 20);
}
