import { expect } from "chai";
import { dispositionOf, STATUS, statusName } from "../../../services/shared/smpp/statuses.ts";
import { submitOutcome } from "../../../services/shared/smpp/submit-outcome.ts";

describe("the disposition of a refused submit", () => {
  const MEANINGS = {
    throttled: [0x58, 0x14],
    temporary: [0x08, 0x64, 0xff],
    bind: [0x04, 0x05],
    // The last two are a vendor's own.
    permanent: [0x01, 0x0a, 0x0b, 0x45, 0x65, 0x66, 0xc4, 0x0400, 0xffffffff],
  } as const;
  for (const [disposition, statuses] of Object.entries(MEANINGS)) {
    for (const status of statuses) {
      it(`${statusName(status)}: ${disposition}`, () => {
        expect(dispositionOf(status)).to.equal(disposition);
      });
    }
  }

  it("every other status of SMPP 3.4 is a permanent refusal", () => {
    const { permanent: _, ...others } = MEANINGS;
    const known = new Set<number>([STATUS.ESME_ROK, ...Object.values(others).flat()]);
    const rest = Object.values(STATUS).filter((status) => !known.has(status));
    expect(rest.length).to.be.at.least(30);
    expect(new Set(rest.map(dispositionOf))).to.deep.equal(new Set(["permanent"]));
  });

  it("a generic_nack with status 0 leaves the submit unknown", () => {
    const response = { command: "generic_nack", sequence: 1, status: STATUS.ESME_ROK, body: {} };
    expect(submitOutcome({ kind: "answered", response: response as never })).to.deep.equal({
      kind: "unknown",
      reason: "bad_answer",
    });
  });
});
