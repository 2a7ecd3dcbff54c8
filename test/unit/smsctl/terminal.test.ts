import { expect } from "chai";
import { readEnumWord } from "../../../services/shared/cli/enum-word.ts";
import { terminalWidth } from "../../../services/shared/cli/style.ts";
import { errorOf } from "../../support/smsctl-fakes.ts";

describe("the width of a command's tables", () => {
  const cases = [
    { stdout: { isTTY: true, columns: 120 }, env: { COLUMNS: "80" }, width: 120 },
    { stdout: { isTTY: true, columns: 0 }, env: {}, width: undefined },
    { stdout: { isTTY: true, columns: 0 }, env: { COLUMNS: "80" }, width: 80 },
    { stdout: {}, env: {}, width: undefined },
    { stdout: {}, env: { COLUMNS: "200" }, width: 200 },
    { stdout: {}, env: { COLUMNS: "wide" }, width: undefined },
  ];
  for (const { stdout, env, width } of cases) {
    it(`${JSON.stringify(stdout)} with ${JSON.stringify(env)}: ${width ?? "no limit"}`, () => {
      expect(terminalWidth(stdout, env)).to.equal(width);
    });
  }
});

describe("a word of an enumeration", () => {
  const VALUES = { 0: "UNSPECIFIED", 1: "QUEUED", 2: "SENT", UNSPECIFIED: 0, QUEUED: 1, SENT: 2 };

  it("is read in any case; another word names those that there are", async () => {
    expect(readEnumWord(VALUES, "Sent", "status")).to.equal(2);
    for (const wrong of ["snt", "2", "unspecified"]) {
      const error = await errorOf((async () => readEnumWord(VALUES, wrong, "status"))());
      expect(error.message).to.equal(`There is no status ${wrong}; there are: queued, sent.`);
    }
  });
});
