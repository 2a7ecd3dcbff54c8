/** Templates of HTTP requests, and JSON pointers into answers. */

/** The values of the placeholders. */
export type TemplateValues = {
  readonly to: string;
  readonly from: string;
  readonly body: string;
  readonly message_id: string;
  readonly receipt_url: string;
};

/**
 * Replaces `{{name}}` placeholders. In JSON each becomes a quoted JSON string, in a form a percent-encoded value, so a
 * customer's text cannot inject syntax.
 */
export function fillTemplate(
  template: string,
  contentType: string,
  values: TemplateValues,
): string {
  const isJson = contentType.includes("json");
  const bare = isJson ? template.replaceAll(/"(\{\{[a-z_]+\}\})"/g, "$1") : template;
  return bare.replaceAll(/\{\{([a-z_]+)\}\}/g, (whole, name: string) => {
    if (!Object.hasOwn(values, name)) return whole;
    const value = values[name as keyof TemplateValues];
    return isJson ? JSON.stringify(value) : encodeURIComponent(value);
  });
}

/** The value at a JSON pointer (RFC 6901); undefined when there is none. */
export function readPointer(document: unknown, pointer: string): unknown {
  if (pointer === "") return document;
  let value = document;
  for (const token of pointer.slice(1).split("/")) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** The string or number at a JSON pointer as text; empty when there is neither. */
export function readPointerText(document: unknown, pointer: string): string {
  const value = readPointer(document, pointer);
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
