import { expect } from "chai";
import { createOptionalParameters } from "../../../services/carrier/domain/optional-parameters.ts";
import { dispositionOf, STATUS, statusName } from "../../../services/shared/smpp/statuses.ts";
import type { SubmitOutcome } from "../../../services/shared/smpp/submit-outcome.ts";

const ACCEPTED: SubmitOutcome = { kind: "accepted", messageId: "id" };
const CLOSED: SubmitOutcome = { kind: "unknown", reason: "closed" };
const TIMEOUT: SubmitOutcome = { kind: "unknown", reason: "timeout" };
const V34 = 0x34;

function refused(status: number): SubmitOutcome {
  const disposition = dispositionOf(status);
  return { kind: "refused", status, statusName: statusName(status), disposition };
}

describe("optional parameters of submits", () => {
  for (const [setting, version, expected] of [
    ["auto", undefined, false],
    ["auto", 0, false],
    ["auto", 0x33, false],
    ["auto", 0x34, true],
    ["auto", 0x50, true],
    ["", 0x34, true],
    ["always", undefined, true],
    ["never", 0x34, false],
  ] as const) {
    it(`with the setting "${setting}" and the version ${version} are ${expected ? "sent" : "left out"}`, () => {
      expect(createOptionalParameters(setting).isOn(version)).to.equal(expected);
    });
  }

  const { ESME_RSUBMITFAIL, ESME_RSYSERR, ESME_RINVDSTADR, ESME_RTHROTTLED } = STATUS;
  type Step = readonly [SubmitOutcome, boolean];
  const cases: readonly (readonly [string, readonly Step[], boolean])[] = [
    ["go on after an accepted submit", [[ACCEPTED, true]], true],
    [
      "stop after a refusal of parameters",
      [
        [ACCEPTED, true],
        [refused(0xc0), true],
      ],
      false,
    ],
    ["pause after the first unclear refusal", [[refused(ESME_RSUBMITFAIL), true]], false],
    ["pause after the first system error", [[refused(ESME_RSYSERR), true]], false],
    ["pause when the link closes on the first submits", [[CLOSED, true]], false],
    [
      "stop when a submit without them is accepted",
      [
        [CLOSED, true],
        [ACCEPTED, false],
        [CLOSED, false],
      ],
      false,
    ],
    [
      "come back when a submit without them is refused too",
      [
        [refused(ESME_RSYSERR), true],
        [refused(ESME_RSYSERR), false],
      ],
      true,
    ],
    [
      "come back when the link closes without them too",
      [
        [CLOSED, true],
        [CLOSED, false],
      ],
      true,
    ],
    ["go on after a missing answer", [[TIMEOUT, true]], true],
    ["go on after a refused recipient", [[refused(ESME_RINVDSTADR), true]], true],
    ["go on after throttling", [[refused(ESME_RTHROTTLED), true]], true],
    [
      "go on after a refusal when one was accepted",
      [
        [ACCEPTED, true],
        [refused(ESME_RSUBMITFAIL), true],
        [CLOSED, true],
      ],
      true,
    ],
  ];
  for (const [name, steps, expected] of cases) {
    it(`${name}`, () => {
      const parameters = createOptionalParameters();
      for (const [outcome, had] of steps) parameters.note(outcome, had);
      expect(parameters.isOn(V34)).to.equal(expected);
    });
  }

  it("are no longer suspected after five refusals that were not theirs", () => {
    const parameters = createOptionalParameters();
    for (let trial = 0; trial < 5; trial += 1) {
      expect(parameters.note(refused(ESME_RSYSERR), true)).to.equal(true);
      parameters.note(refused(ESME_RSYSERR), false);
    }
    expect(parameters.note(refused(ESME_RSYSERR), true)).to.equal(false);
    expect(parameters.isOn(V34)).to.equal(true);
  });
});
