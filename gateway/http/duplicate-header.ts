/**
 * Tells whether a header field that a request has once was sent several times. Node shows the
 * first and drops the rest unseen, where a proxy before it may have believed the last: which one
 * the client meant cannot be known (RFC 9110 section 5.3). `name` is in lower case.
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
