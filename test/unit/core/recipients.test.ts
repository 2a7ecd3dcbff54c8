import { expect } from "chai";
import fc from "fast-check";
import {
  type CountryCode,
  getCountries,
  getExampleNumber,
  parsePhoneNumberFromString,
} from "libphonenumber-js/max";
import examples from "libphonenumber-js/mobile/examples";
import { parseRecipient } from "../../../services/shared/core/phone.ts";

const mobiles = getCountries().flatMap((country: CountryCode) => {
  const number = getExampleNumber(country, examples);
  return number === undefined ? [] : [number];
});

describe("recipients of every country (the examples of libphonenumber's metadata)", () => {
  for (const { country, number, countryCallingCode, ...rest } of mobiles) {
    const digits = number.slice(1);
    const expected = { ok: true, e164: number, callingCode: countryCallingCode };

    it(`${country}: ${number} with +, with 009, with separators`, () => {
      const spaced = digits.replaceAll(/\d{3}/g, "$& ");
      for (const form of [number, `009${digits}`, `+ ${spaced}`, `009 (${spaced})`]) {
        expect(parseRecipient(form), form).to.deep.include(expected);
      }
    });

    it(`${country}: ${number} without +, and with 00`, () => {
      expect(parseRecipient(digits), digits).to.deep.include(expected);
      const asDialledInNigeria = parseRecipient(`+${digits.slice(1)}`);
      const isTwofold = digits.startsWith("9") && asDialledInNigeria.ok;
      expect(parseRecipient(`00${digits}`)).to.deep.include(
        isTwofold ? asDialledInNigeria : expected,
      );
    });

    it(`${country}: ${number} as the library formats it internationally`, () => {
      const formatted = parsePhoneNumberFromString(number)?.formatInternational() ?? "";
      expect(parseRecipient(formatted), formatted).to.deep.include(expected);
      expect(Object.keys(rest)).to.not.include("ext");
    });
  }

  it("covers at least 240 countries and territories", () => {
    expect(mobiles.length).to.be.at.least(240);
  });
});

describe("spellings of recipients", () => {
  const separators = fc.stringMatching(/^[ \-.()[\]\u00a0\u2011\u2013\u200e]{0,3}$/);
  const zeros = fc.constantFrom(0x30, 0x660, 0x6f0, 0xff10);

  it("does not depend on separators, on their place, or on the script of the digits", () => {
    const numbers = fc.constantFrom("+2348030009901", "08030009901", "447400123456", "112");
    const extras = fc.array(separators, { minLength: 15, maxLength: 15 });
    fc.assert(
      fc.property(numbers, extras, zeros, (number, between, zero) => {
        const written = Array.from(number, (character, at) => {
          const isPlus = character === "+";
          const shown = isPlus ? "+" : String.fromCharCode(zero + Number(character));
          return `${between[at]}${shown}`;
        });
        expect(parseRecipient(written.join(""))).to.deep.equal(parseRecipient(number));
      }),
      { numRuns: 1000 },
    );
  });

  it("refuses a number with any other character anywhere in it", () => {
    const allowed = /[\d\s+().\-[\]\u00a0\u00ad\u2000-\u206f\u3000\u2212\ufeff\uff00-\uff3d٠-٩۰-۹]/;
    const other = fc
      .integer({ min: 0, max: 0x10ffff })
      .filter((codePoint) => codePoint < 0xd800 || codePoint > 0xdfff)
      .map((codePoint) => String.fromCodePoint(codePoint))
      .filter((character) => !allowed.test(character));
    const place = fc.integer({ min: 0, max: 11 });
    fc.assert(
      fc.property(other, place, (character, at) => {
        const input = `${"08030009901".slice(0, at)}${character}${"08030009901".slice(at)}`;
        expect(parseRecipient(input).ok, JSON.stringify(input)).to.equal(false);
      }),
      { numRuns: 1000 },
    );
  });

  it("refuses up to six digits: too short for any number", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999 }), (digits) => {
        expect(parseRecipient(String(digits)).ok).to.equal(false);
      }),
      { numRuns: 1000 },
    );
  });

  it("reads 256 characters and refuses 257, though the number in them is the same", () => {
    const padded = `+234${".".repeat(242)}8030009901`;
    expect(padded).to.have.lengthOf(256);
    expect(parseRecipient(padded)).to.deep.include({ ok: true, e164: "+2348030009901" });
    expect(parseRecipient(`${padded} `).ok).to.equal(false);
  });
});
