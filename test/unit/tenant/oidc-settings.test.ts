import { expect } from "chai";
import { oidcFaults, TENANT_SETTINGS } from "../../../services/tenant/config.ts";

describe("the settings of OpenID Connect", () => {
  for (const issuer of [
    "https://login.example.com",
    "http://localhost:4000",
    "http://[::1]:4000",
  ]) {
    it(`take the provider ${issuer}`, () => {
      expect(TENANT_SETTINGS.OIDC_ISSUER.read(issuer)).to.equal(issuer);
    });
  }

  for (const issuer of [
    "http://login.example.com",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "ftp://login.example.com",
    "login.example.com",
  ]) {
    it(`refuse the provider ${issuer}: an attacker on the network could sign in as any person`, () => {
      expect(() => TENANT_SETTINGS.OIDC_ISSUER.read(issuer)).to.throw("https://");
    });
  }

  it("need a client and the console's address, if there is a provider", () => {
    const none = { OIDC_ISSUER: "", OIDC_CLIENT_ID: "", CONSOLE_URL: "" };
    expect(oidcFaults(none)).to.deep.equal([]);
    expect(oidcFaults({ ...none, OIDC_ISSUER: "https://login.example.com" })).to.deep.equal([
      "OIDC_CLIENT_ID is required with OIDC_ISSUER",
      "CONSOLE_URL is required with OIDC_ISSUER",
    ]);
    const both = {
      OIDC_CLIENT_ID: "a",
      CONSOLE_URL: "b",
      OPERATOR_OIDC_ISSUER: "https://x.example",
    };
    expect(oidcFaults({ ...both, OIDC_ISSUER: "https://login.example.com" })).to.deep.equal([
      "OPERATOR_OIDC_CLIENT_ID is required with OPERATOR_OIDC_ISSUER",
      "OPERATOR_CONSOLE_URL is required with OPERATOR_OIDC_ISSUER",
    ]);
  });
});
