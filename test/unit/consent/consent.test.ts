import { expect } from "chai";
import { csvText } from "../../../gateway/render/csv-text.ts";
import {
  actionOf,
  isForAll,
  keywordFaults,
  NO_KEYWORDS,
} from "../../../services/consent/domain/keywords.ts";
import {
  changesState,
  isNewer,
  suppressionFault,
} from "../../../services/consent/domain/suppression.ts";

describe("the words of a handset", () => {
  const own = { ...NO_KEYWORDS, optOut: ["ARRÊT"], optIn: ["JA"] };
  for (const [text, expected] of [
    ["STOP", "opt_out"],
    [" stop\n", "opt_out"],
    ["StopAll", "opt_out"],
    ["arrêt", "opt_out"],
    ["unstop", "opt_in"],
    ["ja", "opt_in"],
    ["help", "help"],
    ["stop it", undefined],
    ["don't stop", undefined],
    ["", undefined],
  ] as const) {
    it(`${JSON.stringify(text)}: ${expected ?? "nothing"}`, () => {
      expect(actionOf(text, own)).to.equal(expected);
    });
  }

  it("opt out of every sender ID by STOPALL alone", () => {
    expect([isForAll(" stopall "), isForAll("STOP")]).to.deep.equal([true, false]);
  });

  it("of a tenant are refused when they are too long, empty or too many", () => {
    const wrong = {
      optOut: [""],
      optIn: Array.from({ length: 51 }, (_, at) => `w${at}`),
      help: ["x".repeat(41)],
      replies: { ...NO_KEYWORDS.replies, help: "x".repeat(1531) },
    };
    expect(keywordFaults(wrong).map(({ field }) => field)).to.deep.equal([
      ...["opt_out", "opt_in", "help"],
      "help_reply",
    ]);
    expect(keywordFaults(NO_KEYWORDS)).to.deep.equal([]);
  });
});

describe("a wish of a number", () => {
  it("counts when it was received last, whenever it is stored", () => {
    expect(isNewer(undefined, 5)).to.equal(true);
    expect(isNewer({ atMs: 5 }, 5)).to.equal(true);
    expect(isNewer({ atMs: 5 }, 4)).to.equal(false);
  });

  it("is announced when it changes the state", () => {
    expect(changesState(undefined, true)).to.equal(true);
    expect(changesState(undefined, false)).to.equal(false);
    expect(changesState({ isOut: true }, true)).to.equal(false);
    expect(changesState({ isOut: true }, false)).to.equal(true);
  });

  it("names a sender ID that can exist, and a reason within its bounds", () => {
    expect(suppressionFault({ sender: "", reason: "" })).to.equal(undefined);
    expect(suppressionFault({ sender: "Ac", reason: "" })?.field).to.equal("sender");
    expect(suppressionFault({ sender: "Acme", reason: "x".repeat(257) })?.field).to.equal("reason");
  });
});

describe("a CSV answer", () => {
  it("quotes what RFC 4180 wants quoted", () => {
    expect(csvText([["a,b", 'c"d', "e\nf", "g"]])).to.equal('"a,b","c""d","e\nf",g\r\n');
  });

  it("gives a spreadsheet no text of a customer that it would run", () => {
    const cells = ["=1+1", "+1", "-1", "@x", "\tx", "x"];
    const guarded = cells.map((cell) => csvText([[cell]], [0]).trimEnd());
    expect(guarded).to.deep.equal(["'=1+1", "'+1", "'-1", "'@x", "'\tx", "x"]);
    expect(csvText([["+234"]])).to.equal("+234\r\n");
  });
});
