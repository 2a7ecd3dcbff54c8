/** A request target's path and query string, both as sent. */
export type Target = { readonly path: string; readonly query: string };

/**
 * Splits a request target in origin or absolute form (RFC 9112 section 3.2). It never throws: a
 * target without a path becomes a path that no operation has.
 */
export function parseRequestTarget(target: string): Target {
  const start = target.startsWith("/") ? 0 : pathStart(target);
  const hash = target.indexOf("#", start);
  const end = hash < 0 ? target.length : hash;
  const mark = target.indexOf("?", start);
  if (mark < 0 || mark > end) return { path: target.slice(start, end) || "/", query: "" };
  return { path: target.slice(start, mark) || "/", query: target.slice(mark + 1, end) };
}

/** Where the path begins in `http://host/path`; 0 when the target has no authority. */
function pathStart(target: string): number {
  const authority = /^https?:\/\/[^/?#]*/i.exec(target);
  return authority?.[0].length ?? 0;
}
