import { createHash } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import {
  canonicalJson,
  compactSorted,
  fingerprint,
} from "../../../services/shared/core/canonical-json.ts";
import { JSON_DEPTH_MAX } from "../../../services/shared/core/canonical-json-depth.ts";
import table from "../../vectors/canonical-json.json" with { type: "json" };

const jsonValue = fc.jsonValue({ maxDepth: 6 });

/** The same value with the members of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).reverse();
  return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]));
}

describe("canonicalJson", () => {
  for (const { name, input, canonical } of table.vectors) {
    it(name, () => {
      expect(canonicalJson(JSON.parse(input))).to.equal(canonical);
      expect(compactSorted(JSON.parse(input))).to.equal(canonical);
    });
  }

  it("round-trips: parsing the text returns the value", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(canonicalJson(plain))).to.deep.equal(plain);
      }),
    );
  });

  it("does not depend on the order of members or on white space", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const spaced: unknown = JSON.parse(JSON.stringify(reversed(value), undefined, "\t "));
        expect(canonicalJson(spaced)).to.equal(canonicalJson(value));
      }),
    );
  });

  it("sorts the members of every object and writes no white space", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.integer()), (value) => {
        const names = Object.keys(value).sort();
        const members = names.map((name) => `${JSON.stringify(name)}:${value[name]}`);
        expect(canonicalJson(value)).to.equal(`{${members.join(",")}}`);
      }),
    );
  });

  it("treats __proto__ as a plain name and changes no prototype", () => {
    const value: unknown = JSON.parse('{"__proto__":{"polluted":true},"a":1}');
    expect(canonicalJson(value)).to.equal('{"__proto__":{"polluted":true},"a":1}');
    expect(({} as Record<string, unknown>).polluted).to.equal(undefined);
    expect(canonicalJson(JSON.parse('{"__proto__":null}'))).to.not.equal(canonicalJson({}));
  });

  it("leaves undefined members out, writes undefined items as null, as JSON.stringify does", () => {
    const value = { b: undefined, a: [undefined, 1], c: null };
    expect(canonicalJson(value)).to.equal('{"a":[null,1],"c":null}');
  });

  it("writes nesting up to the bound, and throws for more and for a cycle", () => {
    const nested = (depth: number) => `${"[".repeat(depth)}1${"]".repeat(depth)}`;
    expect(canonicalJson(JSON.parse(nested(JSON_DEPTH_MAX)))).to.equal(nested(JSON_DEPTH_MAX));
    expect(() => canonicalJson(JSON.parse(nested(JSON_DEPTH_MAX + 1)))).to.throw(RangeError);
    expect(() => canonicalJson(JSON.parse(nested(1_000_000)))).to.throw(RangeError);
    const cycle: unknown[] = [];
    cycle.push({ cycle });
    expect(() => canonicalJson(cycle)).to.throw(RangeError);
  });

  it("throws for values that JSON cannot hold", () => {
    for (const value of [undefined, Number.NaN, 1n, () => 0, Symbol("s"), new Date(), new Map()]) {
      expect(() => canonicalJson(value)).to.throw(TypeError);
      if (value !== undefined) expect(() => canonicalJson({ a: value })).to.throw(TypeError);
    }
  });
});

describe("fingerprint", () => {
  it("is the SHA-256 of the canonical text", () => {
    const expected = createHash("sha256").update('{"a":1,"b":2}').digest();
    expect(fingerprint({ b: 2, a: 1 })).to.deep.equal(expected);
  });

  it("is equal for equal values and different for different ones", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (left, right) => {
        const isSame = canonicalJson(left) === canonicalJson(right);
        expect(fingerprint(left).equals(fingerprint(reversed(left)))).to.equal(true);
        expect(fingerprint(left).equals(fingerprint(right))).to.equal(isSame);
      }),
    );
  });

  it("differs for lists with the same text in different places", () => {
    const prints = [["a", "b"], ["ab"], ["a\nb"], ["b", "a"], [["a", "b"]], ["a", "b", ""], []].map(
      (values) => fingerprint(...values).toString("hex"),
    );
    expect(new Set(prints).size).to.equal(prints.length);
  });
});
