import { files, markdown, rule, sources } from "../support/house-rules.ts";

/** Words that no file or folder is named after: each has a plain name in docs/glossary.md. */
const RETIRED_IN_PATHS = new RegExp(
  `(^|[/-])(${[
    ...["bells?", "books", "crowd", "desk", "doorbells?", "doubts?", "farewell", "fences?"],
    ...["judges?", "judge-[a-z-]+", "lanes?", "paced?", "pacing"],
    ...["neighbours?", "patience", "remembered", "standings?", "survey", "turnstile"],
    ...["under-way", "verdicts?", "whoever"],
  ].join("|")})([-./]|$)`,
);

/** Names of exports that were replaced by the field's word. */
const RETIRED_NAMES = [
  "Accepter",
  "AnswerEnded",
  "Bells",
  "BelievedWrongly",
  "BodyCrowd",
  "Diverter",
  "Doorbells",
  "HoldUndoer",
  "KeyLost",
  "LoadGate",
  "NamedArrival",
  "Neighbours",
  "PaceLine",
  "Patience",
  "ReceiptDesk",
  "Standings",
  "TurnNote",
  "Turnstile",
  "Unbroken",
  "WaitingTenants",
  "asTheyEnd",
  "comparableParty",
  "createQuestions",
  "distrust",
  "giveBack",
  "hearHints",
  "isHotElsewhere",
  "judgeLate",
  "keepMeanwhile",
  "letGoOfEnded",
  "openBook",
  "perhapsMade",
  "sayGoodbye",
  "shareRoom",
  "surveyJson",
  "takeByTurn",
];

/** Words that are no name of a function, a variable or a type: docs/glossary.md has the plain one. */
const RETIRED_WORDS =
  /\b(anyStanding|heard|heardMs|judge[A-Z]?\w*|looked(?! ?up)|standingMs|told)\b/;

/** Words that hide who acts or what happens. docs/style.md gives the plain sentence for each. */
const VAGUE =
  /\b(whoever|whatever|nobody|somebody|anew|under way|is told|are told|was told|looks like as|lets? go of)\b/i;
/** A sentence whose subject is a clause: "What was written is kept" for "The cache keeps the write". */
const CLAUSE_AS_SUBJECT = /(^|[.:;] )What (is|was|are|were|has|had|came|comes|waits|goes|stands)\b/;

/** A comment begins with the thing or the act: "The scopes of a role" for "What a role may do". */
const CLAUSE_AS_NAME = /^\s*(\/\*\*|\/\/) (What|Who|Whose) /;

/** Texts that are kept outside the repository; docs/contract.md has their content. */
const UNREACHABLE = /`(service|decisions|design)\.md`|\bthe design's\b/;

/** These files define the retired words. */
const DEFINES_WORDS = /^(docs\/(style|glossary)\.md|test\/tidy\/words\.test\.ts)$/;

describe("words", () => {
  rule("no file or folder has a retired name", () =>
    files
      .map(({ path }) => path)
      .filter((path) => !/^(test\/fuzz\/corpus|proto)\//.test(path) && RETIRED_IN_PATHS.test(path)),
  );

  rule("no retired name is used in code", () => {
    const retired = new RegExp(`\\b(${RETIRED_NAMES.join("|")})\\b`);
    return prose(
      sources,
      (line) => retired.test(line),
      () => true,
    );
  });

  rule("no retired word is used in code or comments", () =>
    prose(
      sources,
      (line) => RETIRED_WORDS.test(line),
      () => true,
    ),
  );

  rule("comments begin with a thing or an act", () =>
    prose(sources, (line) => CLAUSE_AS_NAME.test(line), isComment),
  );

  rule("comments cite texts of this repository", () => [
    ...prose(sources, (line) => UNREACHABLE.test(line), isComment),
    ...prose(
      markdown,
      (line) => UNREACHABLE.test(line),
      () => true,
    ),
  ]);

  rule("comments and documents say who acts and what happens", () => [
    ...prose(sources, isVague, isComment),
    ...prose(markdown, isVague, () => true),
  ]);
});

function isVague(line: string): boolean {
  return VAGUE.test(line) || CLAUSE_AS_SUBJECT.test(line);
}

function isComment(line: string): boolean {
  return /^\s*(\/\/|\/?\*)/.test(line);
}

/** `path:line` of every line among those that `counts` accepts for which `isWrong` returns true. */
function prose(
  among: typeof files,
  isWrong: (line: string) => boolean,
  counts: (line: string) => boolean,
): string[] {
  return among
    .filter(({ path }) => !DEFINES_WORDS.test(path))
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, at) => (counts(line) && isWrong(line) ? [`${path}:${at + 1}`] : [])),
    );
}
