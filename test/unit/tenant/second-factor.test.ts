import { expect } from "chai";
import {
  newFactorSecret,
  newRecoveryCodes,
  readCode,
  recoveryHash,
  type SecondFactor,
} from "../../../services/tenant/domain/second-factor.ts";
import {
  codeOf,
  otpauthUri,
  stepAt,
  stepOfCode,
  toBase32,
} from "../../../services/tenant/domain/totp.ts";

/** RFC 6238 appendix B, with SHA-1; its codes have eight digits, ours are their last six. */
const RFC_SECRET = Buffer.from("12345678901234567890");
const RFC_CODES = [
  [59, "94287082"],
  [1_111_111_109, "07081804"],
  [1_111_111_111, "14050471"],
  [1_234_567_890, "89005924"],
  [2_000_000_000, "69279037"],
  [20_000_000_000, "65353130"],
] as const;

describe("a time-based code", () => {
  for (const [seconds, code] of RFC_CODES) {
    it(`after ${seconds} s is that of RFC 6238`, () => {
      expect(codeOf(RFC_SECRET, stepAt(seconds * 1000))).to.equal(code.slice(2));
    });
  }

  it("is taken one step early and one late, and no further away", () => {
    const nowMs = 1_700_000_000_000;
    const now = stepAt(nowMs);
    const taken = [-2, -1, 0, 1, 2].map((away) =>
      stepOfCode(RFC_SECRET, codeOf(RFC_SECRET, now + away), { nowMs, lastStep: 0 }),
    );
    expect(taken).to.deep.equal([undefined, now - 1, now, now + 1, undefined]);
  });

  it("is of no use a second time, and neither is an earlier one", () => {
    const nowMs = 1_700_000_000_000;
    const lastStep = stepAt(nowMs);
    for (const step of [lastStep - 1, lastStep]) {
      const found = stepOfCode(RFC_SECRET, codeOf(RFC_SECRET, step), { nowMs, lastStep });
      expect(found).to.equal(undefined);
    }
  });
});

describe("the secret of an authenticator", () => {
  // RFC 4648 section 10.
  for (const [text, base32] of [
    ["", ""],
    ["f", "MY"],
    ["fo", "MZXQ"],
    ["foo", "MZXW6"],
    ["foob", "MZXW6YQ"],
    ["fooba", "MZXW6YTB"],
    ["foobar", "MZXW6YTBOI"],
  ] as const) {
    it(`"${text}" is ${base32 || "empty"} in base32`, () => {
      expect(toBase32(Buffer.from(text))).to.equal(base32);
    });
  }

  it("is in an address whose label no name can break", () => {
    const uri = otpauthUri(RFC_SECRET, "sms:host?x", "ada&b@example.org");
    expect(uri).to.equal(
      "otpauth://totp/sms%3Ahost%3Fx:ada%26b%40example.org" +
        "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=sms%3Ahost%3Fx",
    );
  });
});

describe("a code of a second factor", () => {
  const codes = newRecoveryCodes();
  const nowMs = 1_700_000_000_000;
  const factor: SecondFactor = {
    personId: "usr_1",
    secret: newFactorSecret(),
    enabledAtMs: 1,
    lastStep: 0,
    recoveryHashes: codes.map(recoveryHash),
  };

  it("may have spaces", () => {
    const code = codeOf(factor.secret, stepAt(nowMs));
    const typed = `${code.slice(0, 3)} ${code.slice(3)} `;
    expect(readCode(factor, typed, nowMs)).to.deep.equal({ step: stepAt(nowMs) });
  });

  it("may be a recovery code, in any case and with any separators", () => {
    const [first = ""] = codes;
    const used = { recoveryHash: recoveryHash(first) };
    for (const typed of [first, first.toLowerCase(), first.replaceAll("-", " ")]) {
      expect(readCode(factor, typed, nowMs)).to.deep.equal(used);
    }
  });

  for (const wrong of ["", "-", "12345", "1234567", "ABCD-EFGH-IJKL-MNOP", "１２３４５６"]) {
    it(`is not "${wrong}"`, () => expect(readCode(factor, wrong, nowMs)).to.equal(undefined));
  }

  it("is one of ten different recovery codes of 80 bits", () => {
    expect(new Set(codes).size).to.equal(10);
    for (const code of codes) expect(code).to.match(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
  });
});
