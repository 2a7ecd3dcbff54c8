import { createHmac, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { ensureCertificates } from "../../../deploy/dev/certificates.ts";
import { isSigned } from "../../../deploy/dev/signature.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("the development certificates", () => {
  const dir = temporaryFolder("tls");
  const now = new Date("2026-03-01T12:00:00Z");
  const files = ensureCertificates(dir, now);
  const ca = new X509Certificate(readFileSync(files.caFile));
  const server = new X509Certificate(readFileSync(files.certFile));

  it("are a CA and a certificate for localhost that it signed", () => {
    expect(ca.ca).to.equal(true);
    expect(ca.verify(ca.publicKey)).to.equal(true);
    expect(server.ca).to.equal(false);
    expect(server.checkIssued(ca)).to.equal(true);
    expect(server.verify(ca.publicKey)).to.equal(true);
    expect(server.checkHost("localhost")).to.equal("localhost");
    expect(server.checkIP("127.0.0.1")).to.equal("127.0.0.1");
    expect(server.checkIP("::1")).to.equal("::1");
    expect(server.checkHost("example.com")).to.equal(undefined);
  });

  it("stay as they are until the server's ends within 30 days; the CA is kept then", () => {
    ensureCertificates(dir, new Date("2026-06-01T12:00:00Z"));
    expect(readFileSync(files.certFile, "utf8")).to.equal(server.toString());
    ensureCertificates(dir, new Date("2027-02-20T12:00:00Z"));
    const renewed = new X509Certificate(readFileSync(files.certFile));
    expect(renewed.serialNumber).not.to.equal(server.serialNumber);
    expect(renewed.verify(ca.publicKey)).to.equal(true);
    expect(readFileSync(files.caFile, "utf8")).to.equal(ca.toString());
  });
});

describe("the receiver's signature check", () => {
  const secret = "whsec_first";
  const nowMs = 1_760_000_000_000;
  const body = Buffer.from('{"id":"evt_1"}');
  const hex = (t: number, key = secret, bytes = body) =>
    createHmac("sha256", key).update(`${t}.`).update(bytes).digest("hex");
  const now = nowMs / 1000;
  const CASES: readonly (readonly [string, string | undefined, boolean])[] = [
    ["one right value", `t=${now},v1=${hex(now)}`, true],
    ["the right one among several", `t=${now},v1=${hex(now, "whsec_other")},v1=${hex(now)}`, true],
    ["keys it does not know", `t=${now},v0=abc,v1=${hex(now)}`, true],
    ["300 seconds off", `t=${now - 300},v1=${hex(now - 300)}`, true],
    ["301 seconds late", `t=${now - 301},v1=${hex(now - 301)}`, false],
    ["301 seconds early", `t=${now + 301},v1=${hex(now + 301)}`, false],
    ["another time than was signed", `t=${now},v1=${hex(now - 1)}`, false],
    ["another secret", `t=${now},v1=${hex(now, "whsec_other")}`, false],
    ["upper-case hex", `t=${now},v1=${hex(now).toUpperCase()}`, false],
    ["no time", `v1=${hex(now)}`, false],
    ["a time that is no number", `t=now,v1=${hex(now)}`, false],
    ["no header", undefined, false],
  ];
  for (const [what, header, isRight] of CASES) {
    it(`${isRight ? "accepts" : "refuses"} ${what}`, () => {
      expect(isSigned(header, body, [secret], nowMs)).to.equal(isRight);
    });
  }

  it("covers every byte of the body, and takes any secret of a rotation", () => {
    const header = `t=${now},v1=${hex(now)}`;
    expect(isSigned(header, Buffer.from('{"id":"evt_2"}'), [secret], nowMs)).to.equal(false);
    expect(isSigned(header, body, ["whsec_newer", secret], nowMs)).to.equal(true);
  });
});
