import { expect } from "chai";
import fc from "fast-check";
import { GSM7_SEPTETS, gsm7Decode, gsm7Encode } from "../../services/shared/core/gsm7.ts";
import vectors from "../vectors/gsm7-alphabet.json" with { type: "json" };

const character = (codePoint: string) => String.fromCharCode(Number.parseInt(codePoint, 16));
const septets = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"));
const rows = [...vectors.default, ...vectors.extension] as [string, string, string][];
const alphabet = rows.map(([, codePoint]) => character(codePoint));

describe("GSM 7-bit default alphabet and extension table", () => {
  for (const [hex, codePoint, name] of rows) {
    it(`U+${codePoint} ${name} is ${hex}, both ways`, () => {
      expect(gsm7Encode(character(codePoint))).to.deep.equal(septets(hex));
      expect(gsm7Decode(septets(hex))).to.equal(character(codePoint));
      expect(GSM7_SEPTETS[Number.parseInt(codePoint, 16)]).to.equal(hex.length / 2);
    });
  }

  it("holds 127 characters and 10 extension characters, and no other code unit", () => {
    const counts = [0, 0, 0];
    for (const cost of GSM7_SEPTETS) counts[cost] = (counts[cost] ?? 0) + 1;
    expect(counts).to.deep.equal([0x10000 - 137, 127, 10]);
  });

  for (const [codePoint, name] of vectors.outside as [string, string][]) {
    it(`U+${codePoint} ${name} is outside and is refused by the encoder`, () => {
      expect(GSM7_SEPTETS[Number.parseInt(codePoint, 16)]).to.equal(0);
      expect(() => gsm7Encode(`a${character(codePoint)}`)).to.throw(RangeError, "at 1");
    });
  }

  it("decodes what it encoded, for every text of the alphabet", () => {
    const text = fc.array(fc.constantFrom(...alphabet)).map((characters) => characters.join(""));
    fc.assert(fc.property(text, (body) => gsm7Decode(gsm7Encode(body)) === body));
  });

  it("decodes any septets to something, and refuses any byte above 7 bits", () => {
    fc.assert(
      fc.property(fc.uint8Array({ max: 0x7f }), (bytes) => {
        expect(gsm7Decode(bytes).length).to.be.at.most(bytes.length);
      }),
    );
    for (const bytes of [[0x80], [0x41, 0xff], [0x1b, 0x80]]) {
      expect(() => gsm7Decode(new Uint8Array(bytes))).to.throw(RangeError);
    }
  });

  it("shows what no sender should write as TS 23.038 section 6.2.1.1 says", () => {
    expect(gsm7Decode(septets("1b41")), "no such extension: the default character").to.equal("A");
    expect(gsm7Decode(septets("411b")), "an escape at the end: a space").to.equal("A ");
    expect(gsm7Decode(septets("1b1b41")), "a second escape: a space").to.equal(" A");
  });
});
