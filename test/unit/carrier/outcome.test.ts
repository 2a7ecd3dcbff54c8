import { expect } from "chai";
import type { ClaimedMessage, PartOutcome } from "../../../services/carrier/domain/message.ts";
import {
  decideNextStep,
  returnToQueue,
  TEMPORARY_MAX,
} from "../../../services/carrier/domain/outcome.ts";
import { claimed } from "../../support/carrier-messages.ts";

const NOW = 1_000_000;
const accepted: PartOutcome = { kind: "accepted", carrierMessageId: "a1" };
const refused: PartOutcome = { kind: "refused", code: "ESME_RINVDSTADR", disposition: "permanent" };
const throttled = {
  kind: "refused",
  code: "ESME_RTHROTTLED",
  disposition: "throttled",
} as const;
const systemError: PartOutcome = {
  kind: "refused",
  code: "ESME_RSYSERR",
  disposition: "temporary",
};
const noLink: PartOutcome = { kind: "not_sent", code: "closed" };
const unanswered: PartOutcome = { kind: "unknown", code: "timeout" };

function kindOf(parts: readonly (PartOutcome | undefined)[], message: ClaimedMessage = claimed()) {
  const verdict = decideNextStep(message, parts, NOW);
  return verdict.kind === "again" ? `again ${verdict.parts.join(",")}` : verdict.outcome.kind;
}

describe("the outcome of a message from its parts", () => {
  const table: readonly [string, readonly PartOutcome[], string][] = [
    ["the one part accepted", [accepted], "accepted"],
    ["every part accepted", [accepted, accepted, accepted], "accepted"],
    ["refused for good", [refused], "refused"],
    ["refused after the first was accepted", [accepted, refused], "partly_refused"],
    ["throttled", [throttled], "not_sent"],
    ["a system error", [systemError], "not_sent"],
    ["the link down before a byte was written", [noLink], "not_sent"],
    ["no answer", [unanswered], "unknown"],
    ["no answer to one of several", [accepted, unanswered], "unknown"],
    ["no answer to one, another refused", [unanswered, refused], "unknown"],
    [
      "one accepted, one in doubt, one refused for good",
      [accepted, unanswered, refused],
      "partly_refused",
    ],
    [
      "one accepted, one in doubt, one that may go later",
      [accepted, unanswered, systemError],
      "again 2",
    ],
    ["a part put off after one was accepted", [accepted, throttled, accepted], "again 1"],
    ["several put off after one was accepted", [accepted, noLink, systemError], "again 1,2"],
  ];
  for (const [what, parts, expected] of table) {
    it(`${what}: ${expected}`, () => expect(kindOf(parts)).to.equal(expected));
  }

  it("the eighth system error refuses a message, and throttling never does", () => {
    const patient = claimed({ attempt: TEMPORARY_MAX - 1 });
    expect(kindOf([systemError], patient)).to.equal("refused");
    expect(kindOf([throttled], claimed({ attempt: 1000 }))).to.equal("not_sent");
  });

  it("a refusal names our code: the carrier's fault and the message's fault differ", () => {
    const codeOf = (part: PartOutcome) => {
      const verdict = decideNextStep(claimed({ attempt: TEMPORARY_MAX }), [part], NOW);
      return verdict.kind === "done" && verdict.outcome.errorCode;
    };
    expect(codeOf(refused)).to.equal("carrier_rejected");
    expect(codeOf(systemError)).to.equal("carrier_unavailable");
  });

  it("a throttled message waits longer each time, by its cause; a link down costs no wait", () => {
    const waitOf = (part: PartOutcome, putOffs: number, attempt = 0) => {
      const verdict = decideNextStep(claimed({ attempt }), [part], NOW, putOffs);
      return verdict.kind === "done" ? verdict.outcome.retryAtMs - NOW : Number.NaN;
    };
    for (const [cause, waits] of [
      ["bind", [250, 500, 500, 500]],
      ["unclear", [250, 500, 1000, 5000]],
      ["number", [250, 500, 1000, 30_000]],
    ] as const) {
      const because: PartOutcome = { ...throttled, cause };
      const found = [0, 1, 2, 50].map((putOffs) => waitOf(because, putOffs));
      expect(found, cause).to.deep.equal(waits);
    }
    expect(waitOf({ ...throttled, retryAfterMs: 7000 }, 0)).to.equal(7000);
    expect(waitOf(systemError, 0, 2), "another process may have tried before").to.equal(1000);
    expect(waitOf(noLink, 3)).to.equal(0);
  });

  it("only a system error counts as an attempt of a deferred message", () => {
    const codeOf = (part: PartOutcome) => {
      const verdict = decideNextStep(claimed(), [part], NOW);
      return verdict.kind === "done" && `${verdict.outcome.kind} ${verdict.outcome.errorCode}`;
    };
    const notBound: PartOutcome = { ...throttled, code: "ESME_RINVBNDSTS", disposition: "bind" };
    expect(codeOf(systemError)).to.equal("not_sent carrier_unavailable");
    for (const part of [throttled, noLink, notBound]) expect(codeOf(part)).to.equal("not_sent ");
    expect(returnToQueue(claimed(), "paused", NOW).errorCode).to.equal("");
  });

  it("a message that was never started returns under its own claim", () => {
    const outcome = returnToQueue(claimed(), "paused", NOW);
    expect(outcome).to.include({ kind: "not_sent", claimId: "claim-1", retryAtMs: 0 });
  });
});
