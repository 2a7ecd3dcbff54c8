import assert from "node:assert/strict";
import {
  maskNumber,
  normaliseNumber,
  parseRecipient,
} from "../../../services/shared/core/phone.ts";
import type { FuzzTarget } from "../run-target.ts";

const E164 = /^\+[1-9]\d{6,14}$/;

const SEEDS = [
  "08031234567",
  "+234 803 123 4567",
  "2348031234567",
  "+234 (0) 803-123-4567",
  "00442071838750",
  "009 44 7911 123456",
  "+447911123456",
  "+1 (202) 555-0143",
  "٠٨٠٣١٢٣٤٥٦٧",
  "tel:+2348031234567;ext=5",
];

const PIECES = ["+", "0", "00", "009", "234", "+234", "(0)", "803", "701", " ", "-", ".", "\u00a0"];

/** Recipients as customers write them. */
export const phoneTarget: FuzzTarget = {
  name: "phone",
  open: async () => ({
    seeds: SEEDS.map((text) => Buffer.from(text)),
    generate(random) {
      const parts = Array.from({ length: 1 + random.below(6) }, () =>
        random.oneIn(2) ? random.pick(PIECES) : String(random.below(10 ** (1 + random.below(9)))),
      );
      return Buffer.from(parts.join(""));
    },
    check(input) {
      const text = input.toString("utf8");
      const parsed = parseRecipient(text);
      const masked = maskNumber(text);
      assert.equal(masked.length, text.length, "a mask is as long as what it hides");
      assert.ok(!/[^*]/.test(masked.slice(0, -3)), "all but the last three are hidden");
      const normal = normaliseNumber(text);
      if (normal !== undefined) assert.match(normal, E164);
      if (!parsed.ok) {
        assert.equal(parsed.code, "invalid_recipient");
        return;
      }
      assert.match(parsed.e164, E164);
      assert.ok(parsed.e164.startsWith(`+${parsed.callingCode}`), "the country's own code");
      assert.match(parsed.country, /^([A-Z]{2}|001)$/);
      assert.equal(normal, parsed.e164, "both readings agree");
      assert.deepEqual(parseRecipient(parsed.e164), parsed, "what was normalised stays as it is");
    },
    close: async () => undefined,
  }),
};
