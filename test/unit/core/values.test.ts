import { expect } from "chai";
import fc from "fast-check";
import { AppError, asAppError, ERRORS } from "../../../services/shared/core/errors.ts";
import {
  ID_PREFIXES,
  idTimeMs,
  isId,
  lowestIdAt,
  newId,
} from "../../../services/shared/core/ids.ts";
import { formatAmount, parseAmount } from "../../../services/shared/core/money.ts";

describe("identifiers", () => {
  /** Runs work under another clock of the process. */
  function withNow<T>(now: () => number, work: () => T): T {
    const realNow = Date.now;
    Date.now = now;
    try {
      return work();
    } finally {
      Date.now = realNow;
    }
  }

  it("rise strictly within a process, also when its clock is set back", () => {
    const startMs = Date.now();
    const ids = [0, -3_600_000, -5000, 0].flatMap((aheadMs) =>
      withNow(
        () => startMs + aheadMs,
        () => Array.from({ length: 1000 }, () => newId("message")),
      ),
    );
    expect(ids).to.deep.equal(ids.toSorted());
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it("have the form that the contract fixes", () => {
    // Examples of the contract (`docs/contract.md#requests`).
    const PREFIXES = {
      ...{ tenant: "ten", apiKey: "key", message: "msg", send: "snd", reservation: "rsv" },
      ...{ inboundMessage: "inb", inboundNumber: "inn", person: "usr", session: "ses" },
      ...{ senderId: "sid", campaign: "cmp", event: "evt", webhookEndpoint: "whe" },
      ...{ webhookDelivery: "whd", entry: "led", route: "rte", request: "req", audit: "aud" },
      ...{ funding: "fnd", check: "chk" },
    };
    expect(Object.keys(ID_PREFIXES).sort()).to.deep.equal(Object.keys(PREFIXES).sort());
    for (const [kind, prefix] of Object.entries(PREFIXES)) {
      const id = newId(kind as keyof typeof ID_PREFIXES);
      expect(id).to.match(new RegExp(`^${prefix}_[0-9A-HJKMNP-TV-Z]{26}$`));
      expect(isId(kind as keyof typeof ID_PREFIXES, id)).to.equal(true);
    }
  });

  it("contain their time of creation, and a lowest id bounds a range", () => {
    // Later than every id so far: a process that has seen a later time keeps to it.
    const atMs = idTimeMs(newId("message")) + 1;
    const id = withNow(
      () => atMs,
      () => newId("message"),
    );
    expect(idTimeMs(id)).to.equal(atMs);
    expect(lowestIdAt("message", idTimeMs(id)) <= id).to.equal(true);
    expect(lowestIdAt("message", idTimeMs(id) + 1) > id).to.equal(true);
    // The epoch and earlier instants are valid instants, and do not mean "now".
    for (const early of [0, -1, Number.MIN_SAFE_INTEGER]) {
      expect(lowestIdAt("message", early)).to.equal(`msg_${"0".repeat(26)}`);
    }
    expect(lowestIdAt("message", Number.MAX_SAFE_INTEGER)).to.equal(
      `msg_7ZZZZZZZZZ${"0".repeat(16)}`,
    );
    expect(lowestIdAt("message", 1.5)).to.equal(lowestIdAt("message", 1));
  });

  it("of another kind, case, length or alphabet are malformed", () => {
    const good = newId("message");
    const bad = ["", good.toLowerCase(), good.slice(0, -1), `${good}0`, newId("send")];
    for (const text of [...bad, `msg_${"I".repeat(26)}`, ` ${good}`, `${good}\n`]) {
      expect(isId("message", text), text).to.equal(false);
    }
  });
});

describe("money", () => {
  it("always shows four decimals", () => {
    const table: [bigint, string][] = [
      [0n, "0.0000"],
      [1n, "0.0001"],
      [9_999n, "0.9999"],
      [10_000n, "1.0000"],
      [123_456_789n, "12345.6789"],
      [-1n, "-0.0001"],
      [-25_000n, "-2.5000"],
    ];
    for (const [amount, shown] of table) expect(formatAmount(amount)).to.equal(shown);
  });

  it("parses its own output exactly", () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 16n), 10n ** 16n), (amount) => {
        expect(parseAmount(formatAmount(amount))).to.equal(amount);
      }),
    );
  });

  it("refuses texts that are not a decimal of at most four places", () => {
    for (const text of ["", "1.", ".5", "1.00001", "1e3", "NaN", " 1", "1,0", "99999999999999"]) {
      expect(parseAmount(text), text).to.equal(undefined);
    }
  });
});

describe("errors", () => {
  it("that are not AppErrors become internal_error with their cause, and their text is not shown", () => {
    const cause = new Error("secret detail");
    const error = asAppError(cause);
    expect(error.code).to.equal("internal_error");
    expect(error.cause).to.equal(cause);
    expect(error.message).not.to.include("secret");
  });

  it("that may be retried have a wait", () => {
    for (const [code, kind] of Object.entries(ERRORS)) {
      expect("retryAfterMs" in kind, code).to.equal(kind.retryable);
    }
    expect(new AppError("rate_limited", "slow down", { retryAfterMs: 40 }).retryAfterMs).to.equal(
      40,
    );
  });
});
