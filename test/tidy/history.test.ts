import { execFileSync } from "node:child_process";
import { ROOT } from "../../deploy/dev/paths.ts";
import { files, rule } from "../support/house-rules.ts";

/** The last commit before the rules for subjects were in force. */
const RULES_SINCE = "770229d";
const SUBJECT_COLUMNS_MAX = 72;
/** Pushed before this test saw them; history is not rewritten. */
const SUBJECT_EXCEPTIONS = [
  "smsctl: plain comments and names",
  "smsctl, chart tests: plain READMEs within 120 columns",
  "Move the tests of values to a file of their own; date nothing yet in the chart's changelog",
  "Install, upgrade and roll back every preset on a cluster",
];

/** ADRs by file name: a title with its number, and a status line. */
const ADR_PATH = /^docs\/adr\/(\d{4})-[\w-]+\.md$/;
const ADR_STATUS = /^Status: (accepted|superseded by \d+|withdrawn|proposed)\b/m;

describe("commit subjects", () => {
  rule(
    "are imperative and at most 72 characters",
    () =>
      subjects().filter(
        (subject) =>
          [...subject].length > SUBJECT_COLUMNS_MAX ||
          !/^[A-Z][a-z]+ /.test(subject) ||
          /^[A-Z][a-z]+(ed|ing) /.test(subject) ||
          subject.endsWith("."),
      ),
    SUBJECT_EXCEPTIONS,
  );
});

describe("decisions", () => {
  const adrs = files.filter(({ path }) => ADR_PATH.test(path));
  const index = files.find(({ path }) => path === "docs/adr/README.md")?.text ?? "";

  rule("each has a status", () =>
    adrs.filter(({ text }) => !ADR_STATUS.test(text)).map(({ path }) => path),
  );

  rule("each is listed in the index", () =>
    adrs.map(({ path }) => path.slice("docs/adr/".length)).filter((name) => !index.includes(name)),
  );
});

/** Subjects of the commits under the rules; without their history, of the last commit alone. */
function subjects(): string[] {
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
      .split("\n")
      .filter((line) => line !== "");
  try {
    return git("log", "--no-merges", "--format=%s", `${RULES_SINCE}..HEAD`);
  } catch {
    return git("log", "-1", "--no-merges", "--format=%s");
  }
}
