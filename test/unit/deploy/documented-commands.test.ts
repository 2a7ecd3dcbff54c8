/** The commands that documents show: targets and files exist, and blocks for a shell parse. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import { markdown } from "../../support/house-rules.ts";

/** Decisions and changelogs may name commands that no longer exist. */
const documents = markdown.filter(({ path }) => !/^docs\/adr\/|CHANGELOG\.md$/.test(path));

const TARGETS = new Set(
  [...readFileSync(join(ROOT, "Makefile"), "utf8").matchAll(/^([a-z-]+):/gm)].map(
    ([, name]) => name,
  ),
);

/** Blocks of a language, and code inside sentences. */
function codeOf(text: string): { blocks: string[]; inline: string[] } {
  const blocks = [...text.matchAll(/^```(?:sh|bash)\n([\s\S]*?)^```/gm)].map(
    ([, code = ""]) => code,
  );
  const rest = text.replace(/^```[\s\S]*?^```/gm, "");
  const inline = [...rest.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
  return { blocks, inline };
}

describe("commands in documents", () => {
  const code = documents.map(({ path, text }) => ({ path, ...codeOf(text) }));

  it("are found in many documents", () => {
    expect(code.filter(({ blocks }) => blocks.length > 0)).to.have.length.greaterThan(15);
    expect(TARGETS.size).to.be.greaterThan(20);
  });

  it("every make target exists", () => {
    const missing = code.flatMap(({ path, blocks, inline }) =>
      [...blocks.flatMap((block) => block.split("\n")), ...inline].flatMap((line) => {
        const words = /^(?:[A-Z_]+=\S+ )*make ((?:(?:[A-Z_]+=\S*|[a-z][a-z-]*) ?)+)/.exec(
          line,
        )?.[1];
        const named = (words ?? "").split(" ").filter((word) => /^[a-z][a-z-]*$/.test(word));
        return named.filter((name) => !TARGETS.has(name)).map((name) => `${path}: make ${name}`);
      }),
    );
    expect(missing).to.deep.equal([]);
  });

  it("every program of the repository that node or mocha runs exists", () => {
    const missing = code.flatMap(({ path, blocks, inline }) =>
      [...blocks, ...inline].flatMap((text) =>
        [...text.matchAll(/\b(?:node|mocha)(?: --?\S+)* ([\w./-]+\.(?:ts|mjs))\b/g)]
          .map(([, file = ""]) => file)
          // `./server.ts` is a file that the reader makes.
          .filter((file) => !file.startsWith("./"))
          .filter(
            (file) => !existsSync(join(ROOT, file)) && !existsSync(join(ROOT, dirname(path), file)),
          )
          .map((file) => `${path}: ${file}`),
      ),
    );
    expect(missing).to.deep.equal([]);
  });

  for (const { path, blocks } of code) {
    if (blocks.length === 0) continue;
    it(`${path}: every block for a shell parses`, () => {
      for (const block of blocks) {
        // Replace placeholders such as `<pod>`: a shell reads them as redirections.
        const text = block.replace(/<[a-z][\w .-]*>/g, "NAME");
        const { status, stderr } = spawnSync("bash", ["-n"], { input: text, encoding: "utf8" });
        expect(status, `${stderr}\n${text}`).to.equal(0);
      }
    });
  }
});
