import { expect } from "chai";
import fc from "fast-check";
import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import {
  maskNumber,
  normaliseNumber,
  parseRecipient,
} from "../../../services/shared/core/phone.ts";
import table from "../../vectors/recipients.json" with { type: "json" };

const REFUSED = { ok: false, code: "invalid_recipient" };
const digits = (length: number) =>
  fc.integer({ min: 0, max: 10 ** length - 1 }).map((n) => String(n).padStart(length, "0"));

/**
 * The result of libphonenumber alone for `+` and digits: the E.164 number of a mobile, or undefined.
 */
function mobileByLibrary(international: string): string | undefined {
  const number = parsePhoneNumberFromString(international);
  const type = number?.getType();
  return type === "MOBILE" || type === "FIXED_LINE_OR_MOBILE" ? number?.number : undefined;
}

function e164Of(input: string): string | undefined {
  const result = parseRecipient(input);
  return result.ok ? result.e164 : undefined;
}

describe("parseRecipient", () => {
  for (const { name, input, e164, country } of table.accepted) {
    it(`reads ${name}: ${JSON.stringify(input)}`, () => {
      const callingCode = parsePhoneNumberFromString(e164)?.countryCallingCode;
      expect(parseRecipient(input)).to.deep.equal({ ok: true, e164, country, callingCode });
    });
  }
  for (const { name, input } of table.refused) {
    it(`refuses ${name}: ${JSON.stringify(input).slice(0, 60)}`, () => {
      expect(parseRecipient(input)).to.deep.equal(REFUSED);
    });
  }

  it("agrees with libphonenumber on every prefix of Nigerian numbers, in every form", () => {
    const tails = fc.sample(digits(6), { numRuns: 10_000, seed: 234 });
    for (let opening = 0; opening < 10_000; opening++) {
      const national = `${String(opening).padStart(4, "0")}${tails[opening]}`;
      const expected = mobileByLibrary(`+234${national}`);
      const forms = [`+234${national}`, `0${national}`, `234${national}`, `+2340${national}`];
      if (national.startsWith("0")) forms.splice(1);
      for (const form of forms) {
        if (expected !== undefined) expect(e164Of(form), form).to.equal(expected);
        else if (form.startsWith("+")) expect(e164Of(form), form).to.equal(undefined);
        else expect(e164Of(form) ?? "", form).to.not.match(/^\+234/);
      }
      if (expected !== undefined) expect(e164Of(national), national).to.equal(expected);
    }
  }).timeout(20_000);

  it("agrees with libphonenumber on any international number", () => {
    const prefix = fc.constantFrom("1", "7", "20", "27", "33", "44", "86", "91", "233", "234", "");
    fc.assert(
      fc.property(prefix, fc.integer({ min: 3, max: 13 }).chain(digits), (code, rest) => {
        expect(e164Of(`+${code}${rest}`)).to.equal(mobileByLibrary(`+${code}${rest}`));
      }),
      { numRuns: 2000 },
    );
  });

  it("reads digits without + as Nigerian if they can be, as international if not", () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 15 }).chain(digits), (bare) => {
        fc.pre(!bare.startsWith("0"));
        const national = parsePhoneNumberFromString(bare, "NG");
        const isNational = national?.country === "NG" && national.isValid();
        const reading = isNational ? national.number : `+${bare}`;
        expect(e164Of(bare)).to.equal(mobileByLibrary(reading));
      }),
      { numRuns: 2000 },
    );
  });

  it("returns a number that parses to itself and begins with its country code", () => {
    const any = fc.integer({ min: 6, max: 15 }).chain(digits);
    fc.assert(
      fc.property(fc.constantFrom("", "+", "0", "00", "009"), any, (prefix, rest) => {
        const first = parseRecipient(prefix + rest);
        if (!first.ok) return;
        expect(first.e164).to.match(/^\+[1-9]\d{6,14}$/);
        expect(first.e164.slice(1).startsWith(first.callingCode)).to.equal(true);
        expect(parseRecipient(first.e164)).to.deep.equal(first);
      }),
      { numRuns: 5000 },
    );
  });

  it("never throws, for any text", () => {
    const near = fc.stringMatching(/^[+0-9 ().\-x#;=ext٠-٩]{0,40}$/);
    fc.assert(
      fc.property(fc.oneof(near, fc.string({ unit: "binary", maxLength: 300 })), (input) => {
        const result = parseRecipient(input);
        if (!result.ok) expect(result).to.deep.equal(REFUSED);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("maskNumber", () => {
  const cases: [string, string][] = [
    ["+2348030009901", "***********901"],
    ["08030009901", "********901"],
    ["1234", "*234"],
    ["901", "***"],
    ["", ""],
    ["call me", "*******"],
  ];
  for (const [number, masked] of cases) {
    it(`shows ${JSON.stringify(number)} as ${JSON.stringify(masked)}`, () => {
      expect(maskNumber(number)).to.equal(masked);
    });
  }

  it("keeps the length and shows at most three digits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (number) => {
        expect(maskNumber(number)).to.have.lengthOf(number.length);
        expect(maskNumber(number)).to.match(/^\**\d{0,3}$/);
      }),
    );
  });
});

describe("normaliseNumber", () => {
  it("returns the same as parseRecipient for mobiles, and the E.164 form of other valid numbers", () => {
    for (const { input, e164 } of table.accepted) expect(normaliseNumber(input)).to.equal(e164);
    for (const [input, e164] of [
      ["0201 234 5678", "+2342012345678"],
      ["234 201 234 5678", "+2342012345678"],
      ["+44 20 7183 8750", "+442071838750"],
      ["442071838750", "+442071838750"],
      ["009 44 20 7183 8750", "+442071838750"],
      ["00 44 20 7183 8750", "+442071838750"],
      ["+1 800 555 1234", "+18005551234"],
    ] as const) {
      expect(parseRecipient(input).ok, input).to.equal(false);
      expect(normaliseNumber(input), input).to.equal(e164);
    }
  });

  it("returns undefined for short codes, garbage, too many digits or too many characters", () => {
    for (const input of ["12345", "911", "nobody", "", "+", "+2341", "08031234567890123"]) {
      expect(normaliseNumber(input), input).to.equal(undefined);
    }
    expect(normaliseNumber(`+442071838750${" ".repeat(256)}`)).to.equal(undefined);
  });

  it("is idempotent", () => {
    fc.assert(
      fc.property(fc.integer({ min: 6, max: 15 }).chain(digits), (rest) => {
        const number = normaliseNumber(`+${rest}`);
        if (number !== undefined) expect(normaliseNumber(number)).to.equal(number);
      }),
    );
  });
});
