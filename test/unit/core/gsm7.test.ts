import { expect } from "chai";
import { GSM7_SEPTETS } from "../../../services/shared/core/gsm7.ts";
import vectors from "../../vectors/gsm7-alphabet.json" with { type: "json" };

const rows = [...vectors.default, ...vectors.extension] as [string, string, string][];

describe("GSM 7-bit default alphabet and extension table", () => {
  for (const [hex, codePoint, name] of rows) {
    it(`U+${codePoint} ${name} costs what ${hex} is long`, () => {
      expect(GSM7_SEPTETS[Number.parseInt(codePoint, 16)]).to.equal(hex.length / 2);
    });
  }

  it("holds 127 characters and 10 extension characters, and no other code unit", () => {
    const counts = [0, 0, 0];
    for (const cost of GSM7_SEPTETS) counts[cost] = (counts[cost] ?? 0) + 1;
    expect(counts).to.deep.equal([0x10000 - 137, 127, 10]);
  });

  for (const [codePoint, name] of vectors.outside as [string, string][]) {
    it(`U+${codePoint} ${name} is outside`, () => {
      expect(GSM7_SEPTETS[Number.parseInt(codePoint, 16)]).to.equal(0);
    });
  }
});
