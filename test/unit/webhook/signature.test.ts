import { execFileSync } from "node:child_process";
import { expect } from "chai";
import { isSigned } from "../../../deploy/dev/signature.ts";
import {
  findSignatureFault,
  signingKey,
  signWebhook,
} from "../../../services/shared/core/webhook-signature.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY = Buffer.from('{"id":"evt_1","text":"Ünï ☂"}');
const NOW_S = 1_700_000_000;

function sign(secrets: readonly string[] = [SECRET], t = NOW_S): string {
  return signWebhook(secrets.map(signingKey), t, BODY);
}

function faultAt(nowMs: number, header: string | undefined = sign(), rawBody: Buffer = BODY) {
  return findSignatureFault({ header, rawBody, secrets: [SECRET], nowMs });
}

describe("the webhook signature", () => {
  it("is the HMAC-SHA256 that OpenSSL computes over t, a dot and the raw body", () => {
    const input = Buffer.concat([Buffer.from(`${NOW_S}.`), BODY]);
    const out = execFileSync("openssl", ["dgst", "-sha256", "-hmac", SECRET], { input });
    const hex = /([0-9a-f]{64})\s*$/.exec(out.toString())?.[1];
    expect(sign()).to.equal(`t=${NOW_S},v1=${hex}`);
  });

  it("is accepted by a verifier written from the contract alone", () => {
    expect(isSigned(sign(), BODY, [SECRET], NOW_S * 1000)).to.equal(true);
    expect(isSigned(sign(["whsec_new", SECRET]), BODY, [SECRET], NOW_S * 1000)).to.equal(true);
    expect(isSigned(sign(), BODY, ["whsec_other"], NOW_S * 1000)).to.equal(false);
  });

  it("carries one v1 per secret during rotation, newest first, and either secret accepts it", () => {
    const header = sign(["whsec_new", SECRET]);
    const [, ...signatures] = header.split(",");
    expect(signatures).to.deep.equal([
      sign(["whsec_new"]).split(",")[1],
      sign([SECRET]).split(",")[1],
    ]);
    for (const secret of ["whsec_new", SECRET]) {
      const check = { header, rawBody: BODY, secrets: [secret], nowMs: NOW_S * 1000 };
      expect(findSignatureFault(check)).to.equal(undefined);
    }
  });

  it("is refused when t is more than 300 seconds from the receiver's clock, either way", () => {
    expect(faultAt((NOW_S + 300) * 1000)).to.equal(undefined);
    expect(faultAt((NOW_S + 300) * 1000 + 1)).to.equal("too_old");
    expect(faultAt((NOW_S - 300) * 1000)).to.equal(undefined);
    expect(faultAt((NOW_S - 300) * 1000 - 1)).to.equal("too_new");
  });

  it("is refused when body, secret, time or signature differ by one character", () => {
    const nowMs = NOW_S * 1000;
    expect(faultAt(nowMs, sign(), Buffer.from(`${BODY} `))).to.equal("mismatch");
    expect(faultAt(nowMs, sign(["whsec_other"]))).to.equal("mismatch");
    expect(faultAt(nowMs, sign([SECRET.slice("whsec_".length)]))).to.equal("mismatch");
    expect(faultAt(nowMs, sign().replace(`t=${NOW_S}`, `t=${NOW_S + 1}`))).to.equal("mismatch");
    expect(faultAt(nowMs, sign().slice(0, -1))).to.equal("mismatch");
    expect(faultAt(nowMs, sign().toUpperCase().replace("T=", "t=").replace("V1", "v1"))).to.equal(
      "mismatch",
    );
  });

  it("is parsed with unknown keys ignored, and refused without its parts", () => {
    const nowMs = NOW_S * 1000;
    expect(faultAt(nowMs, `v0=abc,${sign()},v2=def`)).to.equal(undefined);
    expect(faultAt(nowMs, "")).to.equal("missing");
    expect(faultAt(nowMs, "garbage")).to.equal("malformed");
    expect(faultAt(nowMs, `t=${NOW_S}`)).to.equal("malformed");
    expect(faultAt(nowMs, sign().replace(`t=${NOW_S},`, ""))).to.equal("malformed");
    expect(faultAt(nowMs, sign().replace(`t=${NOW_S}`, "t=soon"))).to.equal("malformed");
  });
});
