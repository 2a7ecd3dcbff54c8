import { expect } from "chai";
import fc from "fast-check";
import {
  describeText,
  hasLoneSurrogate,
  splitText,
} from "../../../services/shared/core/segments.ts";
import { encodeGsm7 } from "../../../services/shared/smpp/gsm7.ts";
import alphabet from "../../vectors/gsm7-alphabet.json" with { type: "json" };
import table from "../../vectors/segments.json" with { type: "json" };

const decoded = [...alphabet.default, ...alphabet.extension].map(([, codePoint]) =>
  String.fromCharCode(Number.parseInt(codePoint as string, 16)),
);
const joined = (characters: string[]) => characters.join("");
const lengths = { minLength: 0, maxLength: 700 };
const gsm7Text = fc.array(fc.constantFrom(...decoded), lengths).map(joined);
const escapeRich = fc.array(fc.constantFrom("a", "[", "€"), lengths).map(joined);
const emojiRich = fc.array(fc.constantFrom("a", "ọ", "😀"), lengths).map(joined);
const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), lengths)
  .map((units) => String.fromCharCode(...units));
const surrogateSoup = fc.array(fc.constantFrom("\ud83d", "\ude00", "a"), lengths).map(joined);
const text = fc.oneof(
  gsm7Text,
  escapeRich,
  emojiRich,
  anyUnits,
  surrogateSoup,
  fc.string({ unit: "binary", maxLength: 400 }),
);

/** The encoded form of a text on the wire. */
function septetsOf(text: string): number {
  return encodeGsm7(text)?.length ?? Number.NaN;
}

/**
 * The fewest segments that keep pairs whole, computed independently from characters and their costs.
 */
function countByHand(body: string, isGsm7: boolean): number {
  const [single, room] = isGsm7 ? [160, 153] : [70, 67];
  const costs = Array.from(body, (character) => (isGsm7 ? septetsOf(character) : character.length));
  if (costs.reduce((sum, cost) => sum + cost, 0) <= single) return 1;
  let segments = 1;
  let used = 0;
  for (const cost of costs) {
    if (used + cost > room) {
      segments++;
      used = 0;
    }
    used += cost;
  }
  return segments;
}

describe("segments", () => {
  for (const { name, parts, encoding, segments, lengths: expected } of table.vectors) {
    it(`${name}: ${segments} of ${encoding}`, () => {
      const body = parts.map(([part, times]) => String(part).repeat(Number(times))).join("");
      const split = splitText(body);
      expect(describeText(body)).to.deep.equal({ encoding, segments });
      expect(split.encoding).to.equal(encoding);
      expect(split.segments.map((segment) => segment.length)).to.deep.equal(expected);
      expect(split.segments.join("")).to.equal(body);
    });
  }

  it("counts as many segments as splitText makes, for every text", () => {
    fc.assert(
      fc.property(text, (body) => {
        const { encoding, segments } = splitText(body);
        expect(describeText(body)).to.deep.equal({ encoding, segments: segments.length });
        expect(segments.join("")).to.equal(body);
      }),
      { numRuns: 1000 },
    );
  });

  it("is GSM 7-bit exactly when every character is in its alphabet", () => {
    const isInside = (body: string) => [...body].every((character) => decoded.includes(character));
    fc.assert(
      fc.property(text, (body) => {
        expect(describeText(body).encoding).to.equal(isInside(body) ? "gsm7" : "ucs2");
      }),
    );
  });

  it("uses the fewest segments that keep escape pairs and surrogate pairs whole", () => {
    fc.assert(
      fc.property(text, (body) => {
        const { encoding, segments } = describeText(body);
        expect(segments).to.equal(countByHand(body, encoding === "gsm7"));
      }),
      { numRuns: 1000 },
    );
  });

  it("never overfills a segment and never divides a surrogate pair", () => {
    fc.assert(
      fc.property(text, (body) => {
        const { encoding, segments } = splitText(body);
        const isSingle = segments.length === 1;
        for (const segment of segments) {
          const used = encoding === "gsm7" ? septetsOf(segment) : segment.length;
          const room = encoding === "gsm7" ? (isSingle ? 160 : 153) : isSingle ? 70 : 67;
          expect(used).to.be.at.most(room);
        }
        const lone = segments.filter(hasLoneSurrogate).length;
        expect(lone > 0).to.equal(hasLoneSurrogate(body));
      }),
      { numRuns: 1000 },
    );
  });

  it("is right for every length around every limit", () => {
    for (let length = 1; length <= 1600; length++) {
      const gsm7 = length <= 160 ? 1 : Math.ceil(length / 153);
      const ucs2 = length <= 70 ? 1 : Math.ceil(length / 67);
      const escaped = length * 2 <= 160 ? 1 : Math.ceil(length / 76);
      const emoji = length * 2 <= 70 ? 1 : Math.ceil(length / 33);
      const counted = ["a", "ọ", "[", "😀"].map((c) => describeText(c.repeat(length)).segments);
      expect(counted, `${length} characters`).to.deep.equal([gsm7, ucs2, escaped, emoji]);
    }
  });

  it("counts the empty body, which callers refuse, as one segment", () => {
    expect(describeText("")).to.deep.equal({ encoding: "gsm7", segments: 1 });
    expect(splitText("")).to.deep.equal({ encoding: "gsm7", segments: [""] });
  });
});

describe("hasLoneSurrogate", () => {
  const cases: [string, boolean][] = [
    ["", false],
    ["plain", false],
    ["😀", false],
    ["\ud83d", true],
    ["\ude00", true],
    ["\ude00\ud83d", true],
    ["a\ud83db", true],
    ["😀\ude00", true],
    ["\ud83d😀", true],
  ];
  for (const [body, expected] of cases) {
    it(`is ${expected} for ${JSON.stringify(body)}`, () => {
      expect(hasLoneSurrogate(body)).to.equal(expected);
    });
  }
});
