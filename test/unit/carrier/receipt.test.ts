import { expect } from "chai";
import { normalizeAddress, readReceipt } from "../../../services/carrier/domain/receipt.ts";
import { matchByParties, segmentOfPart } from "../../../services/carrier/domain/submission.ts";

describe("the verdict of a receipt", () => {
  const table = [
    ["delivered", undefined, {}, "delivered", ""],
    ["delivered", "027", {}, "delivered", ""],
    ["undeliverable", "027", {}, "undelivered", "absent_subscriber"],
    ["undeliverable", "001", {}, "undelivered", "unknown_subscriber"],
    ["undeliverable", "999", {}, "undelivered", "unknown"],
    ["undeliverable", undefined, {}, "undelivered", "unknown"],
    ["undeliverable", "E17", { E17: "spam_blocked" }, "undelivered", "spam_blocked"],
    ["undeliverable", "0017", { 17: "handset_error" }, "undelivered", "handset_error"],
    ["expired", "000", {}, "undelivered", "validity_expired"],
    ["expired", "42", { 42: "absent_subscriber" }, "undelivered", "absent_subscriber"],
    ["rejected", "1", {}, "undelivered", "carrier_rejected"],
    ["enroute", undefined, {}, "acknowledged", ""],
    ["accepted", undefined, {}, "acknowledged", ""],
    ["unknown", "027", {}, "acknowledged", ""],
    ["deleted", undefined, {}, "undelivered", "unknown"],
    ["deleted", "006", {}, "undelivered", "absent_subscriber"],
    ["undeliverable", "constructor", {}, "undelivered", "unknown"],
    ["undeliverable", "toString", { 1: "network_error" }, "undelivered", "unknown"],
  ] as const;
  for (const [state, code, own, verdict, errorCode] of table) {
    it(`${state} with ${code ?? "no code"} is ${verdict} ${errorCode}`, () => {
      expect(readReceipt(state, code, own)).to.deep.equal({ verdict, errorCode });
    });
  }

  // 3GPP TS 29.002 section 17.6.6, in decimal.
  const MAP_ERRORS = {
    unknown_subscriber: [1, 5],
    absent_subscriber: [6, 27],
    network_error: [8, 11, 21, 34, 36],
    subscriber_barred: [9, 10, 13],
    handset_error: [31, 32],
  };
  for (const [errorCode, numbers] of Object.entries(MAP_ERRORS)) {
    it(`the MAP errors ${numbers.join(", ")} are ${errorCode}`, () => {
      for (const number of numbers) {
        const code = String(number).padStart(3, "0");
        const found = readReceipt("undeliverable", code, {});
        expect(found, code).to.deep.equal({ verdict: "undelivered", errorCode });
      }
    });
  }

  it("parties compare without plus and without regard to case", () => {
    expect(normalizeAddress("+2348031234567")).to.equal(normalizeAddress("2348031234567"));
    expect(normalizeAddress("Demo")).to.equal(normalizeAddress("DEMO"));
  });
});

describe("the message of a receipt", () => {
  const unknown = { connectorId: "c", to: "234", from: "demo", atMs: 0 };

  it("a receipt without a known id belongs to the first open segment of the one message in doubt", () => {
    const found = matchByParties([
      { ...unknown, messageId: "msg_a", segment: 2 },
      { ...unknown, messageId: "msg_a", segment: 1 },
    ]);
    expect(found).to.include({ messageId: "msg_a", segment: 1 });
  });

  it("a receipt that fits two messages, or none, has no match", () => {
    const two = ["msg_a", "msg_b"].map((messageId) => ({ ...unknown, messageId, segment: 0 }));
    const tied = { ...unknown, messageId: "msg_a", segment: 1, assignedKey: "k1" };
    const free = { ...unknown, messageId: "msg_a", segment: 2 };
    expect(matchByParties([tied, free], "k1")).to.equal(tied);
    expect(matchByParties([tied, free], "k2")).to.equal(free);
    expect(matchByParties([tied], "k2")).to.equal(undefined);
    expect(matchByParties(two)).to.equal(undefined);
    expect(matchByParties([])).to.equal(undefined);
  });

  it("with one submit, or one receipt for all parts, a receipt applies to the whole message", () => {
    expect(segmentOfPart(0, 1, false)).to.deep.equal({ segment: 0 });
    expect(segmentOfPart(2, 3, true)).to.deep.equal({ segment: 0 });
    const places = [0, 1, 2].map((part) => segmentOfPart(part, 3, false));
    expect(places).to.deep.equal([1, 2, 3].map((segment) => ({ segment, parts: 3 })));
  });
});
