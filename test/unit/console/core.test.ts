/** The console's own decisions: amounts, the first rows of a file, the parts of a text. */
import { expect } from "chai";
import { firstRows, placeholders } from "../../../console/core/csv-preview.ts";
import { showAmount, toUnits } from "../../../console/core/money.ts";
import { measure } from "../../../console/core/segments.ts";

describe("an amount on the screen", () => {
  for (const [amount, shown] of [
    ["0.0000", "0.00"],
    ["4.0000", "4.00"],
    ["1234567.8900", "1,234,567.89"],
    ["0.0001", "0.0001"],
    ["-12.5000", "−12.50"],
    ["9007199254740993.0001", "9,007,199,254,740,993.0001"],
  ] as const) {
    it(`${amount} is ${shown}`, () => expect(showAmount(amount)).to.equal(shown));
  }

  it("compares beyond what a float holds", () => {
    expect(toUnits("9007199254740993.0001") > toUnits("9007199254740993.0000")).to.equal(true);
    expect(toUnits("-0.5000")).to.equal(-5000n);
  });
});

describe("the first rows of a file", () => {
  for (const [name, text, rows] of [
    [
      "commas",
      "to,name\n080,Ada\n",
      [
        ["to", "name"],
        ["080", "Ada"],
      ],
    ],
    [
      "semicolons after a BOM",
      "\uFEFFto;name\r\n080;Ada",
      [
        ["to", "name"],
        ["080", "Ada"],
      ],
    ],
    [
      "tabs",
      "to\tname\r080\tAda\r",
      [
        ["to", "name"],
        ["080", "Ada"],
      ],
    ],
    [
      "quotes",
      'to,name\n080,"A ""B"", C\nD"',
      [
        ["to", "name"],
        ["080", 'A "B", C\nD'],
      ],
    ],
    ["empty lines", "to\n\n080\n", [["to"], ["080"]]],
    ["nothing", "", []],
  ] as const) {
    it(`are read with ${name}`, () => expect(firstRows(text, 5)).to.deep.equal(rows));
  }

  it("stop at the number that is asked for", () => {
    expect(firstRows("a\nb\nc\nd", 2)).to.deep.equal([["a"], ["b"]]);
  });

  it("placeholders are named once each", () => {
    expect(placeholders("Hi {{name}}, {{ town }} {{name}} {{}}")).to.deep.equal(["name", "town"]);
  });
});

describe("the parts of a text while it is typed", () => {
  for (const [name, text, wanted] of [
    ["nothing", "", { encoding: "gsm7", segments: 0, units: 0, left: 160 }],
    ["one full part", "a".repeat(160), { encoding: "gsm7", segments: 1, units: 160, left: 0 }],
    ["one more", "a".repeat(161), { encoding: "gsm7", segments: 2, units: 161, left: 145 }],
    ["escaped characters", "€".repeat(80), { encoding: "gsm7", segments: 1, units: 160, left: 0 }],
    ["another alphabet", "ж".repeat(71), { encoding: "ucs2", segments: 2, units: 71, left: 63 }],
  ] as const) {
    it(`count ${name}`, () => expect(measure(text)).to.deep.include(wanted));
  }

  it("names the characters that make it longer, once each", () => {
    expect(measure("ok “ok” “").culprits).to.deep.equal(["“", "”"]);
  });
});
