/**
 * Whether a header field that may occur once was sent several times. Node keeps the first value and drops the
 * rest, but a proxy in front of it may have used the last: the request is ambiguous (RFC 9110 section 5.3).
 * `name` is in lower case.
 */
export function isDuplicateHeader(rawHeaders: readonly string[], name: string): boolean {
  let isSeen = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const field = rawHeaders[at] as string;
    if (field.length !== name.length || field.toLowerCase() !== name) continue;
    if (isSeen) return true;
    isSeen = true;
  }
  return false;
}
