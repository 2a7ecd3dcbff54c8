/**
 * The guides: every `.md` file of `gateway/docs/guides`. Its front matter has `title`, `description`, `section` and
 * `order`, and `path` if its address is not `/guides/<name>`. A new file appears in the navigation by itself.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { type DocPage, SECTIONS, type Section } from "./doc-page.ts";

const FOLDER = join(import.meta.dirname, "../guides");

export function readGuides(): DocPage[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".md"));
  return names.map((name) => parseGuide(name, readFileSync(join(FOLDER, name), "utf8")));
}

/** Throws for a missing or wrong member, because the page would be missing from the navigation. */
export function parseGuide(fileName: string, text: string): DocPage {
  const [, header, markdown] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text) ?? [];
  if (header === undefined || markdown === undefined) fail(fileName, "begins without front matter");
  const { title, description, section, order, path } = parse(header) as Record<string, unknown>;
  if (typeof title !== "string" || title === "") fail(fileName, "has no title");
  if (typeof description !== "string" || description === "") fail(fileName, "has no description");
  if (typeof order !== "number") fail(fileName, "has no order, a number");
  if (!isSection(section)) fail(fileName, `has no section: one of ${SECTIONS.join(", ")}`);
  const own = typeof path === "string" ? path : `/guides/${fileName.replace(/\.md$/, "")}`;
  return { path: own, title, description, section, order, markdown: markdown.trim() };
}

function isSection(value: unknown): value is Section {
  return (SECTIONS as readonly unknown[]).includes(value);
}

function fail(fileName: string, fault: string): never {
  throw new Error(`the guide ${fileName} ${fault}`);
}
