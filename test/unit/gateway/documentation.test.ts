/** The pages of the documentation, their Markdown, indexes and links (docs/adr/0141-documentation-site.md). */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";
import { expect } from "chai";
import { EXAMPLES } from "../../../gateway/docs/content/example-pages.ts";
import { ERROR_CODES } from "../../../gateway/docs/error-pages.ts";
import { buildOpenApi } from "../../../gateway/docs/openapi.ts";
import { allPages, buildSite } from "../../../gateway/docs/site/build-site.ts";
import { customerLines } from "../../../gateway/docs/site/changelog.ts";
import { parseGuide, readGuides } from "../../../gateway/docs/site/guides.ts";
import { markdownPath } from "../../../gateway/docs/site/layout.ts";
import { renderMarkdown } from "../../../gateway/docs/site/render-markdown.ts";
import { createOperations } from "../../../gateway/operations/all.ts";
import { EVENT_TYPES } from "../../../services/shared/core/event-types.ts";
import { MESSAGE_STATUSES } from "../../../services/shared/core/message-status.ts";
import { siteFile } from "../../../services/shared/web/site-file.ts";
import { DOCS_URL, memoryPorts } from "../../support/rest-app.ts";
import { siteLinks } from "../../support/site-links.ts";

const operations = createOperations(memoryPorts(), true);
const document = buildOpenApi(operations, { baseUrl: "/", docsUrl: DOCS_URL });
const OPTIONS = {
  document: JSON.stringify(document),
  docsUrl: DOCS_URL,
  apiUrl: "https://api.example.test",
};
const files = [
  ...buildSite(OPTIONS),
  siteFile("/openapi.json", "application/json", OPTIONS.document),
];
const textOf = (path: string) => {
  const file = files.find((one) => one.path === path);
  expect(file, path).to.not.equal(undefined);
  return Buffer.from(file?.bodies.identity ?? []).toString();
};
const pages = allPages(OPTIONS);
const htmlPages = files.filter(({ type }) => type.startsWith("text/html"));

describe("the documentation", () => {
  it("has every guide, every error code, every worked example, and the migration at its address", () => {
    const paths = pages.map(({ path }) => path);
    expect(paths).to.include.members([
      ...readGuides().map(({ path }) => path),
      ...ERROR_CODES.map((code) => `/errors/${code}`),
      ...EXAMPLES.map(({ slug }) => `/examples/${slug}`),
      "/guides/changelog",
      "/api/migrations/send-endpoint",
    ]);
    expect(new Set(paths).size).to.equal(paths.length);
  });

  it("has each page also as Markdown, and names it with one line in llms.txt", () => {
    const index = textOf("/llms.txt");
    for (const page of pages) {
      expect(textOf(markdownPath(page))).to.match(/^# .+\n\n.+\n\n/);
      expect(index).to.contain(`](${DOCS_URL}${markdownPath(page)}): ${page.description}\n`);
    }
    expect(textOf("/llms-full.txt").length).to.be.greaterThan(50_000);
  });

  it("has no dead link: every address and every anchor of every page and its Markdown exists", () => {
    const { dead, count } = siteLinks(files, DOCS_URL);
    expect(dead).to.deep.equal([]);
    expect(count).to.be.greaterThan(1000);
  });

  it("every error code has a page with cause, fix and retry advice", () => {
    for (const code of ERROR_CODES) {
      const text = textOf(`/errors/${code}.md`);
      for (const part of ["## What happened", "## How to fix it", "## Retry?", `"${code}"`]) {
        expect(text).to.contain(part);
      }
    }
  });

  it("explains every status, test number, header, scope and event type", () => {
    const words: readonly [string, readonly string[]][] = [
      ["/guides/statuses.md", MESSAGE_STATUSES],
      ["/guides/test-mode.md", Array.from({ length: 15 }, (_, at) => String(9901 + at))],
      ["/guides/limits.md", Object.keys(document.components.headers)],
      ["/guides/authentication.md", [...new Set(operations.map(({ scope }) => scope))]],
      ["/guides/webhooks.md", EVENT_TYPES],
    ];
    for (const [path, wanted] of words) {
      for (const word of wanted) expect(textOf(path), path).to.contain(`| \`${word}\` |`);
    }
  });

  it("the reference in Markdown has every operation, and members of lists and nullable objects", () => {
    const text = textOf("/reference.md");
    for (const { method, path } of operations) {
      expect(text).to.contain(`\n${method} ${path.replace(/:(\w+)/g, "{$1}")}\n`);
    }
    for (const member of ["| `occurred_at` |", "| `error` | MessageError or null |"]) {
      expect(text).to.contain(member);
    }
    expect(text).to.contain("50 when absent");
  });

  it("shows the public address of the API in samples", () => {
    expect(textOf("/guides/quickstart.md")).to.contain(
      "export BASE_URL=https://api.example.test\n",
    );
    for (const { path } of pages) expect(textOf(path)).to.not.contain("127.0.0.1:8080");
  });

  it("loads nothing from other hosts, and has no inline script or style", () => {
    for (const { path, bodies } of htmlPages) {
      const text = Buffer.from(bodies.identity).toString();
      expect(text, path).to.not.match(
        /<(script|link|img|iframe)\b[^>]*(src|href)="(https?:)?\/\//i,
      );
      expect(text, path).to.not.match(/<style|\sstyle=|<script>|\son\w+="/i);
    }
  });

  it("the search has each section and each operation once", () => {
    const entries = JSON.parse(textOf("/search.json")) as { id: string; text: string }[];
    const ids = entries.map(({ id }) => id);
    expect(new Set(ids).size).to.equal(ids.length);
    expect(ids).to.include.members(["guides/quickstart#2-send-a-message", "errors/conflict"]);
    expect(ids).to.include("reference#tag/sender-ids/listSenderIds");
  });

  it("the bundle of Scalar is the file of the package that vendor/scalar.json names", () => {
    const folder = new URL("../../../gateway/docs/vendor/", import.meta.url);
    const record = JSON.parse(readFileSync(new URL("scalar.json", folder), "utf8"));
    const body = brotliDecompressSync(readFileSync(new URL("scalar.js.br", folder)));
    expect(createHash("sha256").update(body).digest("hex")).to.equal(record.sha256);
    expect(body.toString()).to.contain(record.version);
  });
});

describe("a guide", () => {
  const GOOD = "---\ntitle: T\ndescription: D.\nsection: Start\norder: 5\n---\n\nText.\n";

  it("has the address of its file, unless its front matter names another", () => {
    expect(parseGuide("a-b.md", GOOD).path).to.equal("/guides/a-b");
    expect(parseGuide("a.md", GOOD.replace("order", "path: /x/y\norder")).path).to.equal("/x/y");
  });

  for (const [fault, text] of [
    ["begins without front matter", "# T\n"],
    ["has no title", GOOD.replace("title: T\n", "")],
    ["has no description", GOOD.replace("description: D.\n", "")],
    ["has no order", GOOD.replace("5", "first")],
    ["has no section", GOOD.replace("Start", "Nowhere")],
  ] as const) {
    it(`that ${fault} is refused by name`, () => {
      expect(() => parseGuide("a.md", text)).to.throw(`the guide a.md ${fault}`);
    });
  }
});

describe("rendering", () => {
  it("escapes code and raw HTML, and leaves out comments", () => {
    const { html } = renderMarkdown(
      "<b>x</b>\n\n<!-- note -->\n\n`<i>`\n\n```text\n<script>\n```\n",
    );
    expect(html).to.not.match(/<b>|<i>|<script>|note/);
    expect(html).to.contain("&lt;script&gt;");
  });

  it("groups consecutive code blocks with a tab name, and only these", () => {
    const block = (tab: string) => `\`\`\`ts tab=${tab}\nlet a;\n\`\`\`\n\n`;
    const { html } = renderMarkdown(`${block("A")}${block("B")}Text.\n\n${block("C")}`);
    expect(html.match(/<div class="tabs">/g)).to.have.length(1);
    expect(html.match(/data-tab="/g)).to.have.length(3);
  });

  it("gives equal headings different anchors", () => {
    const { headings } = renderMarkdown("## A b\n\n## A b\n\n### `c_d`\n");
    expect(headings.map(({ id }) => id)).to.deep.equal(["a-b", "a-b-2", "c_d"]);
  });

  it("the changelog has the lines for customers and no others", () => {
    const text = customerLines(
      "# Changelog\n\n## Unreleased\n\n- One.\n\n### Operators\n\n- Two.\n\n## 1.0.0\n\nFirst.\n\n" +
        "### Customers\n\n- Three, see [x](y.md).\n\n### Developers\n\n- Four.\n\n" +
        "## 0.9.0\n\n### Operators\n\n- Five.\n",
    );
    expect(text).to.equal("## Unreleased\n\n- One.\n\n## 1.0.0\n\nFirst.\n- Three, see x.");
  });
});
