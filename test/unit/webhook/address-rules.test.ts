import { expect } from "chai";
import { isAllowedAddress, parseNetwork } from "../../../services/webhook/domain/address-rules.ts";
import { readTarget } from "../../../services/webhook/domain/url-rules.ts";
import { HOSTILE_URLS } from "../../support/hostile-urls.ts";

const PORTS = [443, 8443];

const CONTROL_CHARACTERS = ["\t", "\n", "\r", "\0", "\x7f", "\u00a0", "\u0085"];

/** Hostile URLs and private addresses that webhooks must not reach. */
const REFUSED_ADDRESSES = `
0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.1
127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1
172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1
192.168.255.255 192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::2 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::7f00:1
64:ff9b::808:808 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:0:7f00:1:: 2001:2::1 2001:10::1
2001:20::1 2001:db8::1 2002:7f00:1:: 2002:808:808:: 2620:4f:8000::1 3ffe::1 3fff::1 3fff:fff::1
5f00::1 fc00::1 fd00::1 fd00:ec2::254 fdff::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff00::1
ff02::1 ff0e::1 4000::1 1fff::1
`
  .split(/\s+/)
  .filter((text) => text !== "");

const ALLOWED_ADDRESSES = `
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
168.63.129.15 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0
192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 203.0.112.255 203.0.114.0 223.255.255.255
2000::1 2001:200::1 2001:4860:4860::8888 2606:4700:4700::1111 2a00:1450:4001:800::200e
2001:db7:ffff::1 2001:db9::1 2003::1 3ffd::1 3fff:1000::1
`
  .split(/\s+/)
  .filter((text) => text !== "");

describe("the rules for webhook URLs", () => {
  it("the list of hostile URLs has at least eighty", () => {
    expect(new Set(HOSTILE_URLS).size).to.be.at.least(80);
  });

  for (const url of HOSTILE_URLS) {
    it(`refuses ${url.length > 80 ? `${url.slice(0, 80)}…` : url}`, () => {
      expect(readTarget(url, PORTS)).to.equal(undefined);
    });
  }

  it("refuses white space and control characters at every position", () => {
    for (const character of CONTROL_CHARACTERS) {
      for (const url of [
        `${character}https://example.com/`,
        `https:${character}//example.com/`,
        `https://exam${character}ple.com/`,
        `https://example.com/${character}`,
        `https://example.com/${character}x`,
      ]) {
        expect(readTarget(url, PORTS), JSON.stringify(url)).to.equal(undefined);
      }
    }
  });

  it("accepts names on the allowed ports, and writes international names in punycode", () => {
    expect(readTarget("https://example.com", PORTS)).to.deep.equal({
      host: "example.com",
      port: 443,
      path: "/",
    });
    expect(readTarget("HTTPS://Hooks.Example.COM:8443/a/b?c=d%20e#f", PORTS)).to.deep.equal({
      host: "hooks.example.com",
      port: 8443,
      path: "/a/b?c=d%20e",
    });
    expect(readTarget("https://bücher.example/", PORTS)?.host).to.equal("xn--bcher-kva.example");
    expect(readTarget("https://localhost:9443/x", [9443])?.port).to.equal(9443);
    expect(readTarget("https://10.0.0.1.nip.example/", PORTS)?.host).to.equal(
      "10.0.0.1.nip.example",
    );
    expect(readTarget("https://hooks_1.example.com:443/", PORTS)?.port).to.equal(443);
  });
});

describe("the rules for webhook addresses", () => {
  for (const address of REFUSED_ADDRESSES) {
    it(`refuses ${address}`, () => expect(isAllowedAddress(address)).to.equal(false));
  }
  for (const address of ALLOWED_ADDRESSES) {
    it(`allows ${address}`, () => expect(isAllowedAddress(address)).to.equal(true));
  }

  it("refuses an address in an unusual spelling", () => {
    for (const text of ["", "localhost", "0x7f.1", "127.1", "2130706433", "0177.0.0.1", "1.2.3"]) {
      expect(isAllowedAddress(text), text).to.equal(false);
    }
  });

  it("an exemption allows its own network only, and no other form of it", () => {
    const allowed = [parseNetwork("10.1.0.0/17"), parseNetwork("fd00:1::/32")];
    expect(isAllowedAddress("10.1.127.255", allowed)).to.equal(true);
    expect(isAllowedAddress("10.1.128.0", allowed)).to.equal(false);
    expect(isAllowedAddress("10.0.255.255", allowed)).to.equal(false);
    expect(isAllowedAddress("::ffff:10.1.0.1", allowed)).to.equal(false);
    expect(isAllowedAddress("64:ff9b::a01:1", allowed)).to.equal(false);
    expect(isAllowedAddress("fd00:1::5", allowed)).to.equal(true);
    expect(isAllowedAddress("fd00:2::5", allowed)).to.equal(false);
    expect(isAllowedAddress("127.0.0.1", allowed)).to.equal(false);
  });
});
