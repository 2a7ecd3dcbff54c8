/** llms.txt (llmstxt.org): the Markdown of every page, with one line each. */
import { type DocPage, SECTIONS } from "./doc-page.ts";
import { markdownPath } from "./layout.ts";

export function llmsIndex(pages: readonly DocPage[], docsUrl: string): string {
  const sections = SECTIONS.map((section) => {
    const own = pages.filter((page) => page.section === section);
    const lines = own.map(
      (page) => `- [${page.title}](${docsUrl}${markdownPath(page)}): ${page.description}`,
    );
    return lines.length === 0 ? "" : `## ${section}\n\n${lines.join("\n")}\n`;
  });
  return `# SMS API

> Send SMS to one or many recipients over HTTP, follow each message to its delivery, and receive signed webhooks.

The description for machines is [OpenAPI 3.1](${docsUrl}/openapi.json). All pages in one file:
[llms-full.txt](${docsUrl}/llms-full.txt).

${sections.filter((text) => text !== "").join("\n")}`;
}
