import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import { ConfigError } from "../../../services/shared/io/config.ts";
import { createRpcAuth, readRpcCallers } from "../../../services/shared/rpc/auth.ts";

const LONG = "0123456789abcdef";

describe("RPC callers from settings", () => {
  it("are empty when nothing is set, and one caller with all methods with RPC_TOKEN alone", () => {
    expect(readRpcCallers(undefined)).to.deep.equal([]);
    expect(readRpcCallers("", "")).to.deep.equal([]);
    expect(readRpcCallers("", LONG)).to.deep.equal([
      { name: "service", tokens: [LONG], methods: ["*"] },
    ]);
  });

  it("are those of RPC_TOKENS alone when it is set: the process's own token is not accepted", () => {
    const json = JSON.stringify({
      gateway: { token: LONG, methods: ["sms.v1.MessagingService/*"] },
      smsctl: { tokens: [`${LONG}1`, `${LONG}2`], certificates: ["ops"], methods: ["*"] },
    });
    const callers = readRpcCallers(json, `${LONG}own`);
    expect(callers.map(({ name }) => name)).to.deep.equal(["gateway", "smsctl"]);
    expect(callers[0]).to.deep.include({ tokens: [LONG], certificateNames: [] });
    expect(callers[1]).to.deep.include({ certificateNames: ["ops"] });
    expect(() => createRpcAuth(callers).authorize("a.B/C", `Bearer ${LONG}own`)).to.throw();
  });

  it("accept a token with a space in it", () => {
    const phrase = "correct horse battery";
    const callers = readRpcCallers("", phrase);
    expect(createRpcAuth(callers).authorize("a.B/C", `Bearer ${phrase}`)).to.equal("service");
    expect(() => readRpcCallers("", `${phrase} `)).to.throw(ConfigError, "RPC_TOKEN");
  });

  const faults: Record<string, string> = {
    "not JSON": "{",
    "a list": "[]",
    "an object without callers": "{}",
    "a caller that is no object": '{"a": 1}',
    "a caller without token or certificate": '{"a": {"methods": ["*"]}}',
    "a caller without methods": `{"a": {"token": "${LONG}"}}`,
    "a method without its service": `{"a": {"token": "${LONG}", "methods": ["GetWallet"]}}`,
    "a pattern inside a name": `{"a": {"token": "${LONG}", "methods": ["sms.v1.*/Get"]}}`,
    "a short token": '{"a": {"token": "short-one", "methods": ["*"]}}',
    "a token with the end of its line": `{"a": {"token": "${LONG}\\n", "methods": ["*"]}}`,
    "tokens that are no texts": '{"a": {"tokens": [1], "methods": ["*"]}}',
  };
  for (const [fault, json] of Object.entries(faults)) {
    it(`${fault} is refused, naming the setting and no token`, () => {
      const read = () => readRpcCallers(json, LONG);
      expect(read).to.throw(ConfigError, /^ {2}RPC_TOKENS[ .]/m);
      expect(read).not.to.throw(/short-one/);
    });
  }
});

describe("RPC authorisation", () => {
  const auth = createRpcAuth([
    { name: "all", tokens: [`${LONG}-all`], methods: ["*"] },
    { name: "wallet", tokens: [`${LONG}-wal`], methods: ["sms.v1.WalletService/*"] },
    {
      name: "one",
      tokens: [`${LONG}-one`],
      methods: ["sms.v1.WalletService/GetWallet"],
      certificateNames: ["one.sms"],
    },
  ]);
  const GET = "sms.v1.WalletService/GetWallet";
  const FUND = "sms.v1.WalletService/FundWallet";
  const OTHER = "sms.v1.WalletServiceX/GetWallet";

  const outcome = (method: string, authorization?: string, certificate?: string): unknown => {
    try {
      return auth.authorize(method, authorization, () => certificate);
    } catch (error) {
      return error instanceof ConnectError ? Code[error.code] : error;
    }
  };

  it("allows each caller its methods and no other", () => {
    const table = [GET, FUND, OTHER].map((method) =>
      ["all", "wal", "one"].map((token) => outcome(method, `Bearer ${LONG}-${token}`)),
    );
    expect(table).to.deep.equal([
      ["all", "wallet", "one"],
      ["all", "wallet", "PermissionDenied"],
      ["all", "PermissionDenied", "PermissionDenied"],
    ]);
    expect(outcome(FUND, `Bearer ${LONG}-one`), "asked again").to.equal("PermissionDenied");
  });

  it("accepts no missing, wrong, bare or differently spelt token", () => {
    const wrong = [undefined, "", "Bearer ", `${LONG}-all`, `bearer ${LONG}-all`, `Bearer ${LONG}`];
    for (const authorization of wrong) {
      expect(outcome(GET, authorization), authorization).to.equal("Unauthenticated");
    }
  });

  it("accepts a client certificate in place of a token, and prefers the token", () => {
    expect(outcome(GET, undefined, "one.sms")).to.equal("one");
    expect(outcome(FUND, undefined, "one.sms")).to.equal("PermissionDenied");
    expect(outcome(GET, undefined, "two.sms")).to.equal("Unauthenticated");
    expect(outcome(FUND, `Bearer ${LONG}-wal`, "one.sms")).to.equal("wallet");
  });
});
