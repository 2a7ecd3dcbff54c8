/** Help and completion of sms, and every command line that its documents show. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { smsProgram } from "../../../clients/cli/cli/tree.ts";
import { completionScript } from "../../../services/shared/cli/completion.ts";
import {
  commandsOf,
  isGroup,
  optionName,
  optionsOf,
  type ParsedCommand,
} from "../../../services/shared/cli/definition.ts";
import { helpOf, runProgram } from "../../../services/shared/cli/program.ts";
import { tooWideLines } from "../../support/help-width.ts";
import { markdown } from "../../support/house-rules.ts";
import { errorOf } from "../../support/smsctl-fakes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PROGRAM = smsProgram();
const COMMANDS = commandsOf(PROGRAM);
const DOCUMENTS = ["clients/cli/README.md", "gateway/docs/guides/cli.md"];

/** Parses a command line with the real parser, without running it. */
async function parse(...words: string[]): Promise<ParsedCommand | undefined> {
  let found: ParsedCommand | undefined;
  const keep = async (_command: unknown, parsed: ParsedCommand) => {
    found = parsed;
  };
  await runProgram(PROGRAM, words, keep, { write: () => undefined });
  return found;
}

describe("the help of sms", () => {
  for (const { words, command } of COMMANDS) {
    it(`${words.join(" ")}: a sentence, the options, and examples that parse`, async () => {
      expect(command.about).to.match(/^[A-Z].*\.$/s);
      const help = helpOf(PROGRAM, words, 80);
      for (const option of optionsOf(command)) {
        expect(help).to.include(`--${optionName(option)}`);
        expect(option.about).to.match(/\.$/);
      }
      expect(command.examples).to.not.deep.equal([]);
      for (const example of command.examples) {
        expect(help).to.include(`$ sms ${example}`);
        const typed = splitWords(example.replace(/ > .*$/, ""));
        expect(typed.slice(0, words.length)).to.deep.equal(words);
        expect(await parse(...typed)).to.not.equal(undefined);
      }
      expect(tooWideLines(help)).to.deep.equal([]);
    });
  }

  it("the program and each group have a sentence and an example", () => {
    for (const { name, about } of PROGRAM.entries.filter(isGroup)) {
      expect(about).to.match(/^[A-Z].*\.$/);
      const help = helpOf(PROGRAM, [name], 80);
      expect(help).to.match(/Example:\n {2}\$ sms /);
      expect(tooWideLines(help)).to.deep.equal([]);
    }
    const help = helpOf(PROGRAM, [], 80);
    expect(help).to.match(/Examples:\n {2}\$ sms /);
    expect(tooWideLines(help)).to.deep.equal([]);
  });

  it("every command's code loads", async () => {
    for (const { command } of COMMANDS) expect(await command.load()).to.be.a("function");
  });

  it("an unknown word suggests the near one", async () => {
    expect((await errorOf(parse("sned"))).message).to.include("Did you mean send?");
    const error = await errorOf(parse("list", "--sinec", "1h"));
    expect(error.message).to.include("Did you mean --since?");
  });

  it("bash completes commands and options", () => {
    const file = join(temporaryFolder("cli"), "completion.bash");
    writeFileSync(file, completionScript(PROGRAM, "bash"));
    const complete = (...typed: string[]) =>
      execFileSync("bash", ["-c", COMPLETE, file, ...typed], { encoding: "utf8" }).trim();
    expect(complete("sms", "camp")).to.equal("campaign");
    expect(complete("sms", "campaign", "est")).to.equal("estimate");
    expect(complete("sms", "list", "--si")).to.equal("--since");
  });
});

const COMPLETE = [
  'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sms; echo "',
  "$",
  '{COMPREPLY[@]}"',
].join("");

describe("command lines in the documents of sms", () => {
  for (const path of DOCUMENTS) {
    const text = markdown.find((document) => document.path === path)?.text ?? "";
    const blocks = (text.match(/^```sh[\s\S]*?^```/gm) ?? []).join("\n");
    const lines = [...blocks.matchAll(/(?:^|\s)(?:npx )?sms (\S.*)$/gm)].map(([, line = ""]) =>
      line.replace(/\s+#.*$/, "").replace(/ [<>|] .*$/, ""),
    );

    it(`${path}: has command lines`, () => {
      expect(lines).to.have.length.greaterThan(5);
    });

    for (const line of lines) {
      it(`${path}: sms ${line} is a command line`, async () => {
        expect(await parse(...splitWords(line))).to.not.equal(undefined);
      });
    }
  }
});

/** Words as a shell has them: quotes hold one together. */
function splitWords(line: string): string[] {
  return (line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []).map((word) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"),
  );
}
