/** The path of an asset without its hash, by which another release's name finds this release's content. */
export function unhashed(path: string): string {
  return path.replace(/^(\/assets\/[\w-]+)\.[0-9a-f]{12}(\.\w+)$/, "$1$2");
}
