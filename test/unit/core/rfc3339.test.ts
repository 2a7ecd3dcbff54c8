import { expect } from "chai";
import fc from "fast-check";
import { formatInstant, parseBound, parseInstant } from "../../../services/shared/core/rfc3339.ts";
import table from "../../vectors/rfc3339.json" with { type: "json" };

const YEAR_0 = Date.parse("0000-01-01T00:00:00Z");
const YEAR_9999_END = Date.parse("9999-12-31T23:59:59.999Z");
const instant = fc.integer({ min: YEAR_0, max: YEAR_9999_END });

describe("parseBound", () => {
  for (const [text, ms] of [
    ["2026-11-02T09:30:00.311Z", 311],
    ["2026-11-02T09:30:00.311000Z", 311],
    ["2026-11-02T09:30:00.3110001Z", 312],
    ["2026-11-02T09:30:00.9999+00:00", 1000],
    ["2026-11-02T09:30:00.3Z", 300],
    ["2026-11-02T09:30:00Z", 0],
  ] as const) {
    it(`${text} is the millisecond ${ms}`, () => {
      expect(parseBound(text)).to.equal(Date.parse("2026-11-02T09:30:00Z") + ms);
    });
  }

  it("refuses texts that are not an instant", () => {
    expect(parseBound("2026-02-31T09:30:00.3119Z")).to.equal(undefined);
  });
});

describe("parseInstant", () => {
  for (const { name, text, ms } of table.accepted) {
    it(`reads ${name}: ${text}`, () => {
      expect(parseInstant(text)).to.equal(ms);
    });
  }
  for (const { name, text } of table.refused) {
    it(`refuses ${name}: ${JSON.stringify(text)}`, () => {
      expect(parseInstant(text)).to.equal(undefined);
    });
  }

  it("reads what formatInstant wrote, from year 0 to year 9999", () => {
    fc.assert(fc.property(instant, (ms) => parseInstant(formatInstant(ms)) === ms));
  });

  it("subtracts any offset, with any case of letters and any length of fraction", () => {
    const offset = fc.integer({ min: -1439, max: 1439 });
    const digits = fc.stringMatching(/^[0-9]{0,20}$/);
    const day = fc.integer({ min: 0, max: YEAR_9999_END - 86_400_000 });
    fc.assert(
      fc.property(day, offset, digits, fc.boolean(), (ms, minutes, more, isLower) => {
        const local = formatInstant(ms + minutes * 60_000).slice(0, -1);
        const size = Math.abs(minutes);
        const hh = String(Math.floor(size / 60)).padStart(2, "0");
        const mm = String(size % 60).padStart(2, "0");
        const text = `${local}${more}${minutes < 0 ? "-" : "+"}${hh}:${mm}`;
        expect(parseInstant(isLower ? text.toLowerCase() : text)).to.equal(ms);
      }),
    );
  });

  it("accepts exactly the days that the calendar has", () => {
    for (const year of [0, 4, 100, 400, 1900, 2000, 2026, 2027, 2028, 2100]) {
      for (let month = 0; month <= 13; month++) {
        for (let day = 0; day <= 32; day++) {
          const [yyyy, mm, dd] = [year, month, day].map((n, i) =>
            String(n).padStart(i === 0 ? 4 : 2, "0"),
          );
          const text = `${yyyy}-${mm}-${dd}T00:00:00.000Z`;
          const date = new Date(0);
          date.setUTCFullYear(year, month - 1, day);
          const isReal = date.toISOString() === text;
          expect(parseInstant(text), text).to.equal(isReal ? date.getTime() : undefined);
        }
      }
    }
  });

  it("refuses a valid text with one character more, less or changed to a letter", () => {
    const valid = "2026-03-01T12:34:56.789+01:00";
    for (let at = 0; at < valid.length; at++) {
      if (at !== 10) {
        expect(parseInstant(`${valid.slice(0, at)}x${valid.slice(at + 1)}`)).to.equal(undefined);
      }
      const isFraction = at >= 20 && at <= 22;
      const shorter = valid.slice(0, at) + valid.slice(at + 1);
      if (!isFraction) expect(parseInstant(shorter), shorter).to.equal(undefined);
    }
  });

  it("never throws and never returns NaN", () => {
    const near = fc.stringMatching(/^[0-9TtZz:.+\- ]{0,40}$/);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), near), (text) => {
        expect(parseInstant(text)).to.not.be.NaN;
      }),
    );
  });
});

describe("formatInstant", () => {
  it("is the text of Date#toISOString for every instant, in any order of days", () => {
    const any = fc.integer({ min: -8.64e15, max: 8.64e15 });
    const sameDays = fc.integer({ min: -200_000_000, max: 200_000_000 });
    fc.assert(
      fc.property(fc.array(fc.oneof(any, instant, sameDays)), (instants) => {
        const expected = instants.map((ms) => new Date(ms).toISOString());
        expect(instants.map(formatInstant)).to.deep.equal(expected);
      }),
    );
  });

  it("cuts off parts of a millisecond as Date does", () => {
    for (const ms of [0.9, 1.5, -0.5, -1.5, 1_800_000_000_000.7]) {
      expect(formatInstant(ms)).to.equal(new Date(ms).toISOString());
    }
  });

  it("throws for numbers that are not an instant", () => {
    for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1, -8.64e15 - 1]) {
      expect(() => formatInstant(ms)).to.throw(RangeError);
    }
  });
});
