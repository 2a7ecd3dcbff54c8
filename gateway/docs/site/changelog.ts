/** The lines of CHANGELOG.md for customers, as a page. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DocPage } from "./doc-page.ts";

const FILE = join(import.meta.dirname, "../../../CHANGELOG.md");

export function changelogPage(text = readFileSync(FILE, "utf8")): DocPage {
  return {
    path: "/guides/changelog",
    title: "Changelog",
    description: "What has changed in the API and its webhooks, newest first.",
    section: "Reliability",
    order: 90,
    markdown: customerLines(text),
  };
}

/** Each release with its part for customers: the lines before its first subheading, or those below `### Customers`. */
export function customerLines(text: string): string {
  const releases = text.split(/^## /m).slice(1);
  const parts = releases.flatMap((release) => {
    const [title = "", ...rest] = release.split("\n");
    const [first = "", ...groups] = rest.join("\n").split(/^### /m);
    const own = groups.find((group) => group.startsWith("Customers\n")) ?? "";
    const lines = `${first.trim()}\n${own.replace("Customers\n", "").trim()}`.trim();
    return lines === "" ? [] : [`## ${title.trim()}\n\n${lines}`];
  });
  // Links of the file lead into the repository, which customers do not have.
  return parts.join("\n\n").replace(/\[([^\]]+)\]\([^)]+\)/g, "$1");
}
