import { expect } from "chai";
import { GATEWAY_SETTINGS } from "../../../gateway/config.ts";
import { serverOptions } from "../../../gateway/http/server.ts";
import { ConfigError, readConfig } from "../../../services/shared/io/config.ts";

describe("the gateway's settings", () => {
  const read = (more: Record<string, string>) =>
    readConfig({ REDIS_URL: "x", NATS_URL: "x", CURSOR_KEY: "x", ...more }, GATEWAY_SETTINGS);

  it("accept addresses and origins", () => {
    const config = read({
      DOCS_URL: "https://docs.example.com/",
      BASE_URL: "http://localhost:8080",
      CORS_ORIGINS: "https://app.example.com, http://localhost:3000",
    });
    expect(config.CORS_ORIGINS).to.deep.equal(["https://app.example.com", "http://localhost:3000"]);
    const apps = "capacitor://localhost,chrome-extension://abcdefghijklmnop";
    expect(read({ CORS_ORIGINS: apps }).CORS_ORIGINS).to.deep.equal(apps.split(","));
    expect(read({})).to.include({ DOCS_URL: "", BASE_URL: "" });
  });

  for (const [name, value] of [
    ["DOCS_URL", "docs.example.com"],
    ["BASE_URL", "sms.example.com:8080"],
    ["CORS_ORIGINS", "https://app.example.com/"],
    ["CORS_ORIGINS", "*"],
    ["TRUSTED_PROXIES", "10/8"],
    ["SEND_AT_MAX_MS", "7776000001"],
    ["BODY_BYTES_MAX", "16777216"],
    ["LIST_SPAN_MAX_MS", "86400000"],
  ] as const) {
    it(`refuse ${name}=${value}`, () => {
      expect(() => read({ [name]: value })).to.throw(ConfigError, name);
    });
  }

  it("give the request a longer timeout than its body, so that a late body gets its own error", () => {
    expect(serverOptions(15_000).requestTimeout).to.equal(30_000);
    expect(serverOptions(120_000).requestTimeout).to.equal(135_000);
  });
});
