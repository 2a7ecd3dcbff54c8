import { expect } from "chai";
import { auditTexts } from "../../../services/shared/core/audit.ts";

describe("the texts of an audit entry", () => {
  const parsed = (before: object | undefined, after: object | undefined) => {
    const texts = auditTexts({ before, after });
    return [texts.before, texts.after].map((text) => (text === "" ? undefined : JSON.parse(text)));
  };

  it("have all fields of a thing that is created or removed", () => {
    expect(parsed(undefined, { a: 1, b: [2] })).to.deep.equal([undefined, { a: 1, b: [2] }]);
    expect(parsed({ a: 1 }, undefined)).to.deep.equal([{ a: 1 }, undefined]);
  });

  it("have only the fields that differ, at every depth", () => {
    const before = { same: 1, price: { "234": "4.0", "235": "5.0" }, list: [1], old: true };
    const after = { same: 1, price: { "234": "4.5", "235": "5.0" }, list: [1, 2], added: "x" };
    expect(parsed(before, after)).to.deep.equal([
      { price: { "234": "4.0" }, list: [1], old: true },
      { price: { "234": "4.5" }, list: [1, 2], added: "x" },
    ]);
  });

  it("name a secret that changed and hide its values", () => {
    const before = { smpp: { host: "a", password: "one" }, secrets: [{ sealed: "s" }], token: "" };
    const after = { smpp: { host: "a", password: "two" }, secrets: [{ sealed: "t" }], token: "u" };
    expect(parsed(before, after)).to.deep.equal([
      { smpp: { password: "hidden" }, secrets: "hidden", token: "" },
      { smpp: { password: "hidden" }, secrets: "hidden", token: "hidden" },
    ]);
    expect(parsed(undefined, { headers: { Authorization: "Bearer x" } })[1]).to.deep.equal({
      headers: "hidden",
    });
  });

  it("have names as smsctl prints them", () => {
    const after = { isUsable: true, smpp: { systemId: "a" }, prices: { "234": "1" } };
    expect(parsed(undefined, after)[1]).to.deep.equal({
      is_usable: true,
      smpp: { system_id: "a" },
      prices: { "234": "1" },
    });
  });

  it("write integers of 64 bits and dates as texts", () => {
    const after = { amount: 2n ** 63n - 1n, at: new Date(0) };
    expect(parsed(undefined, after)[1]).to.deep.equal({
      amount: "9223372036854775807",
      at: "1970-01-01T00:00:00.000Z",
    });
  });

  it("are at most about 32 KiB long and remain JSON", () => {
    const prices = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [at, "1.0000"]));
    const { after } = auditTexts({ before: undefined, after: prices });
    expect(after.length).to.be.lessThan(100_000);
    expect(JSON.parse(after)).to.have.property("truncated").with.length(32_768);
  });
});
