import { expect } from "chai";
import {
  findOwner,
  groupKey,
  type InboundNumber,
  type InboundPart,
  joinParts,
  needsConfirmation,
  normalisePart,
  repeatWindowMs,
} from "../../../services/consent/domain/inbound.ts";

const PART: InboundPart = {
  ...{ connectorId: "smsc", from: "2348031234567", to: "+2442", body: "Hello" },
  ...{ encoding: "gsm7", reference: 0, total: 1, sequence: 1, receivedAtMs: 0 },
  carrierMessageId: "",
};

describe("a part of an inbound message", () => {
  it("has its sender in E.164 and its number in digits", () => {
    expect(normalisePart(PART)).to.include({ from: "+2348031234567", to: "2442" });
    expect(normalisePart({ ...PART, from: "BANK" }).from).to.equal("BANK");
  });

  for (const [what, wrong] of [
    ["a place behind the last one", { total: 2, sequence: 3 }],
    ["place 0", { total: 2, sequence: 0 }],
    ["more parts than a header can count", { total: 256, sequence: 1 }],
    ["no parts", { total: 0, sequence: 0 }],
  ] as const) {
    it(`with ${what} is a message of its own`, () => {
      const part = normalisePart({ ...PART, reference: 7, ...wrong });
      expect(part).to.include({ reference: 0, total: 1, sequence: 1 });
    });
  }

  it("of one part repeats the same text, and of several the same reference", () => {
    expect(groupKey(PART)).to.equal(groupKey({ ...PART, receivedAtMs: 9 }));
    expect(groupKey(PART)).to.not.equal(groupKey({ ...PART, body: "Other" }));
    const long = { ...PART, reference: 7, total: 2 };
    expect(groupKey(long)).to.equal(groupKey({ ...long, sequence: 2, body: "Other" }));
    expect(groupKey(long)).to.not.equal(groupKey({ ...long, reference: 8 }));
    expect(groupKey(long)).to.not.equal(groupKey({ ...long, from: "+2348030000000" }));
  });

  it("of one part with the carrier's id repeats the same id with the same text", () => {
    const named = { ...PART, carrierMessageId: "c-1" };
    expect(groupKey(named)).to.equal(groupKey({ ...named, receivedAtMs: 9 }));
    expect(groupKey(named)).to.not.equal(groupKey({ ...named, carrierMessageId: "c-2" }));
    expect(groupKey(named)).to.not.equal(groupKey({ ...named, body: "Other" }));
    expect(repeatWindowMs(named)).to.be.greaterThan(repeatWindowMs(PART));
    expect([needsConfirmation(PART), needsConfirmation(named)]).to.deep.equal([true, false]);
    expect(needsConfirmation({ ...PART, total: 2 })).to.equal(false);
  });

  it("is cut to its bounds, and never between the halves of a character", () => {
    const { body } = normalisePart({ ...PART, body: `${"x".repeat(4095)}😀` });
    expect(body).to.equal(`${"x".repeat(4095)}\ufffd`);
  });

  it("joins the others in the order of their places, as far as they came", () => {
    const bodies = new Map([
      [3, "c"],
      [1, "a"],
    ]);
    expect(joinParts(bodies)).to.equal("ac");
  });
});

describe("the owner of an inbound message", () => {
  const row = (tenantId: string, keyword: string): InboundNumber => ({
    ...{ id: `inn_${tenantId}`, number: "2442", tenantId, keyword, sender: "", createdAtMs: 0 },
  });
  const shared = [row("shop", "SHOP"), row("bank", "BANK")];
  const owner = (rows: readonly InboundNumber[], body: string) => {
    const found = findOwner(rows, body);
    return `${found.owner?.tenantId ?? "-"}: ${found.text}`;
  };

  it("is named by the first word, in any case", () => {
    expect(owner(shared, " shop  what is new ")).to.equal("shop: what is new");
    expect(owner(shared, "Bank\nstop")).to.equal("bank: stop");
    expect(owner(shared, "shopping")).to.equal("-: shopping");
    expect(owner(shared, "")).to.equal("-: ");
  });

  it("is the tenant without a keyword where no keyword fits", () => {
    const rows = [...shared, row("rest", "")];
    expect(owner(rows, "hello")).to.equal("rest: hello");
    expect(owner(rows, "shop hello")).to.equal("shop: hello");
  });
});
