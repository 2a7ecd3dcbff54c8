/** Help, completion, and every command line that a document of this repository shows. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { completionScript } from "../../../services/shared/cli/completion.ts";
import {
  commandsOf,
  isGroup,
  optionName,
  optionsOf,
} from "../../../services/shared/cli/definition.ts";
import { helpOf } from "../../../services/shared/cli/program.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { smsctlProgram } from "../../../services/smsctl/cli/tree.ts";
import { tooWideLines } from "../../support/help-width.ts";
import { markdown } from "../../support/house-rules.ts";
import { skipSince } from "../../support/skip.ts";
import { parse } from "../../support/smsctl-fakes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PROGRAM = smsctlProgram();
const COMMANDS = commandsOf(PROGRAM);

describe("smsctl's help", () => {
  for (const { words, command } of COMMANDS) {
    it(`${words.join(" ")}: a sentence, the options, and examples that parse`, async () => {
      expect(command.about).to.match(/^[A-Z].*\.$/s);
      const help = helpOf(PROGRAM, words, 80);
      expect(help).to.include(command.about.slice(0, 60).split(" ").slice(0, -1).join(" "));
      for (const option of optionsOf(command)) {
        expect(help).to.include(`--${optionName(option)}`);
        expect(option.about).to.match(/\.$/);
      }
      expect(command.examples).to.not.deep.equal([]);
      for (const example of command.examples) {
        expect(help).to.include(`$ smsctl ${example}`);
        const typed = splitWords(example.replace(/ > .*$/, ""));
        expect(typed.slice(0, words.length)).to.deep.equal(words);
        await parse(...typed);
      }
      expect(tooWideLines(help)).to.deep.equal([]);
    });
  }

  it("the program and each group have a sentence and an example", () => {
    const groups = PROGRAM.entries.filter(isGroup);
    for (const { name, about } of groups) {
      expect(about).to.match(/^[A-Z].*\.$/);
      const help = helpOf(PROGRAM, [name], 80);
      expect(help).to.match(/Example:\n {2}\$ smsctl /);
      expect(tooWideLines(help)).to.deep.equal([]);
    }
    const help = helpOf(PROGRAM, [], 80);
    expect(help).to.match(/Examples:\n {2}\$ smsctl /);
    expect(tooWideLines(help)).to.deep.equal([]);
  });

  it("every list can be watched", () => {
    const lists = COMMANDS.filter(({ command }) => command.name === "list");
    expect(lists).to.have.length.greaterThan(10);
    expect(lists.filter(({ command }) => command.isList !== true)).to.deep.equal([]);
  });
});

describe("smsctl's completion", () => {
  const complete = (...typed: string[]) => {
    const file = join(temporaryFolder("smsctl"), "completion.bash");
    writeFileSync(file, completionScript(PROGRAM, "bash"));
    const script =
      'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _smsctl; echo "' +
      "$" +
      '{COMPREPLY[@]}"';
    return execFileSync("bash", ["-c", script, file, ...typed], { encoding: "utf8" }).trim();
  };

  it("bash completes nouns, verbs and options, also after an option with a value", () => {
    expect(complete("smsctl", "me")).to.equal("message");
    expect(complete("smsctl", "message", "f")).to.equal("find");
    expect(complete("smsctl", "message", "list", "--si")).to.equal("--since");
    expect(complete("smsctl", "--context", "prod", "wallet", "e")).to.equal("entries");
    expect(complete("smsctl", "audit", "--se")).to.equal("--service");
  });

  for (const [shell, word] of [
    ["zsh", "'find:"],
    ["fish", "-a find"],
  ] as const) {
    it(`${shell} has every command and option, and parses where it is installed`, function () {
      const script = completionScript(PROGRAM, shell);
      expect(script).to.include(word);
      for (const { command } of COMMANDS) {
        for (const option of optionsOf(command)) expect(script).to.include(optionName(option));
      }
      const file = join(temporaryFolder("smsctl"), "completion");
      writeFileSync(file, script);
      try {
        execFileSync(shell, ["-n", file], { stdio: "pipe" });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
        skipSince(this, `${shell} is not installed, so the script was not parsed`);
      }
    });
  }
});

describe("command lines in documents", () => {
  const documents = markdown.filter(({ path }) =>
    /^deploy\/runbooks\/|(^|\/)README\.md$/.test(path),
  );
  const lines = documents.flatMap(({ path, text }) =>
    linesIn(text).map((line) => ({ path, line })),
  );

  it("are found in the runbooks and READMEs", () => {
    expect(
      lines.filter(({ path }) => path.startsWith("deploy/runbooks/")),
    ).to.have.length.greaterThan(30);
  });

  for (const { path, line } of lines) {
    it(`${path}: smsctl ${line} is a command line`, async () => {
      const words = splitWords(concrete(line));
      const names = COMMANDS.map((one) => one.words.join(" "));
      // A text may also name a command or a group alone.
      const isName = [...names, ...names.map((name) => name.split(" ")[0])].includes(
        words.join(" "),
      );
      if (words.includes("--help")) {
        expect(helpOf(PROGRAM, words.slice(0, -1), 80)).to.include("Usage:");
        return;
      }
      await parse(...words).catch((thrown: unknown) => {
        if (!(isName && thrown instanceof AppError && isIncomplete(thrown))) throw thrown;
      });
    });
  }
});

function isIncomplete({ message }: AppError): boolean {
  return /^(Required option|Missing required argument|A command is missing)/.test(message);
}

/** The words after `smsctl` in code of a Markdown text. */
function linesIn(text: string): string[] {
  const call = /(?:^|[\s$])(?:npx )?(?:smsctl|node services\/smsctl\/main\.ts) (\S.*)$/;
  const blocks = text.match(/^```[\s\S]*?^```/gm) ?? [];
  const inBlocks = blocks.flatMap((block) =>
    block
      .replaceAll(/\\\n\s*/g, " ")
      .split("\n")
      .flatMap((line) => call.exec(line)?.[1] ?? []),
  );
  const spans = text.replaceAll(/^```[\s\S]*?^```/gm, "").match(/`[^`]+`/g) ?? [];
  const inSpans = spans.flatMap(
    (span) => /^`(?:npx )?smsctl ([^`]+)`$/.exec(span.replaceAll(/\s+/g, " "))?.[1] ?? [],
  );
  return [...inBlocks, ...inSpans];
}

/** Without comments, redirections and the marks of placeholders. */
function concrete(line: string): string {
  return line
    .replace(/\s+#.*$/, "")
    .replaceAll(/<([^<>]*)>…?/g, (_, name: string) => name.replaceAll(/\W/g, "-"))
    .replace(/ [<>] .*$/, "")
    .replaceAll(/[[\]]/g, "")
    .replaceAll("…", "");
}

/** Words as a shell has them: quotes hold one together. */
function splitWords(line: string): string[] {
  return (line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []).map((word) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, "$1$2"),
  );
}
