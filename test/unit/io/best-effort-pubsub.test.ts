import { expect } from "chai";
import { readJson } from "../../../services/shared/io/best-effort-pubsub.ts";

describe("readJson", () => {
  const isList = (value: unknown): value is unknown[] => Array.isArray(value);
  for (const [name, text, expected] of [
    ["a valid value", "[1]", [1]],
    ["a value of another shape", "{}", undefined],
    ["text that is not JSON", "[1", undefined],
    ["an empty text", "", undefined],
  ] as const) {
    it(`reads ${name} as ${JSON.stringify(expected)}`, () => {
      expect(readJson(text, isList)).to.deep.equal(expected);
    });
  }
});
