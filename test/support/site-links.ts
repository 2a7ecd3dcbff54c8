/** The links of the documentation's files, and those among them that lead nowhere. */
import type { SiteFile } from "../../services/shared/web/site-file.ts";

/** An origin for addresses inside the site. */
const ORIGIN = "http://site.test";

export function siteLinks(
  files: readonly SiteFile[],
  docsUrl: string,
): { readonly dead: string[]; readonly count: number } {
  const texts = new Map(
    files.map(({ path, bodies }) => [path, Buffer.from(bodies.identity).toString()]),
  );
  const anchors = new Map(
    [...texts].map(([path, text]) => [
      path,
      new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  );
  const isKnown = (from: string, link: string) => {
    if (link.startsWith("#")) return anchors.get(from)?.has(link.slice(1)) === true;
    const { pathname, hash } = new URL(link.replace(docsUrl, ORIGIN), baseOf(from));
    const path = pathname.replace(/^\/docs(?=\/|$)/, "");
    if (!texts.has(path)) return false;
    // Scalar makes the anchors of the reference; a test in a browser checks them.
    if (hash === "" || path === "/reference" || path.endsWith(".md")) return true;
    return anchors.get(path)?.has(decodeURIComponent(hash.slice(1))) === true;
  };
  let count = 0;
  const dead: string[] = [];
  for (const [path, text] of texts) {
    for (const link of linksOf(path, text)) {
      if (/^(?!https?:)[a-z]+:/.test(link)) continue;
      // Addresses elsewhere are not checked; there should be few.
      if (/^https?:/.test(link) && !link.startsWith(docsUrl)) continue;
      count += 1;
      if (!isKnown(path, link)) dead.push(`${path} → ${link}`);
    }
  }
  return { dead, count };
}

/** Where a file is served. The first page is also at `/docs`, and the page of unknown addresses anywhere. */
function baseOf(path: string): string {
  if (path === "") return `${ORIGIN}/docs`;
  return path.startsWith("/") ? `${ORIGIN}${path}` : `${ORIGIN}/some/where`;
}

function linksOf(path: string, text: string): string[] {
  if (/\.(md|txt)$/.test(path)) {
    const withoutCode = text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`]*`/g, "");
    return [...withoutCode.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  }
  if (!text.startsWith("<!doctype html>")) return [];
  return [...text.matchAll(/ (?:href|src|data-search|data-document)="([^"]+)"/g)].map(
    ([, link = ""]) => link.replaceAll("&amp;", "&"),
  );
}
