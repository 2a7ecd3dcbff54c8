/** The path of an asset without its hash: another release's name of it leads to this release's content. */
export function unhashed(path: string): string {
  return path.replace(/^(\/assets\/[\w-]+)\.[0-9a-f]{12}(\.\w+)$/, "$1$2");
}
