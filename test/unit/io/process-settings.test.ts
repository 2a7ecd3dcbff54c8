import { readFileSync } from "node:fs";
import { expect } from "chai";
import {
  ConfigError,
  faultsOf,
  readConfig,
  text,
  whole,
} from "../../../services/shared/io/config.ts";
import { addressesNeeded } from "../../../services/shared/service-addresses.ts";

describe("the settings of a process", () => {
  it("are reported with all faults together, each once", () => {
    const first = () => readConfig({}, { URI: text(), SIZE: whole(1, 9, 5) });
    const second = () => readConfig({ SIZE: "x" }, { URI: text(), SIZE: whole(1, 9, 5) });
    expect(faultsOf([first, () => 1, second])).to.deep.equal([
      "URI is required",
      "SIZE: must be a whole number from 1 to 9",
    ]);
    expect(faultsOf([])).to.deep.equal([]);
  });

  it("hide no other error", () => {
    const broken = () => {
      throw new TypeError("broken");
    };
    expect(() => faultsOf([broken]))
      .to.throw(TypeError)
      .and.not.instanceOf(ConfigError);
  });

  it("require the addresses of called services in other processes", () => {
    expect([...addressesNeeded(["gateway"])]).to.have.members([
      "TENANT_GRPC",
      "SENDER_ID_GRPC",
      "WALLET_GRPC",
      "MESSAGING_GRPC",
      "WEBHOOK_GRPC",
      "CAMPAIGN_GRPC",
      "CONSENT_GRPC",
    ]);
    expect([...addressesNeeded(["wallet", "messaging"])]).to.have.members([
      "TENANT_GRPC",
      "SENDER_ID_GRPC",
      "ROUTING_GRPC",
      "CONSENT_GRPC",
    ]);
    expect([...addressesNeeded(["tenant", "routing", "webhook"])]).to.deep.equal([]);
  });

  it("are those that the chart gives each component", () => {
    const rows = readFileSync("helm/sms/templates/_components.tpl", "utf8").matchAll(
      /^([a-z-]+):\n(?: {2}.*\n)*? {2}calls: \[(.*)\]$/gm,
    );
    const services = ["gateway", "messaging", "wallet", "sender-id", "carrier"];
    const found = [...rows].filter(([, name = ""]) => services.includes(name));
    expect(found).to.have.length(services.length);
    for (const [, name = "", calls = ""] of found) {
      const settings = calls
        .split(", ")
        .map((callee) => `${callee.toUpperCase().replace("-", "_")}_GRPC`);
      expect([...addressesNeeded([name])], name).to.have.members(settings);
    }
  });
});
