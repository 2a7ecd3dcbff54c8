import { expect } from "chai";
import { PROCESS_LAYOUTS, type ServiceProcess } from "../../../deploy/dev/process-table.ts";
import { callerToken, rpcSettings } from "../../../deploy/dev/rpc-callers.ts";
import { methodsOf, OPERATOR } from "../../../services/shared/caller-methods.ts";
import { createRpcAuth } from "../../../services/shared/rpc/auth.ts";
import { readListedCallers } from "../../../services/shared/rpc/listed-callers.ts";
import { SERVICE_ADDRESSES } from "../../../services/shared/service-addresses.ts";

const SECRET = "0123456789abcdef";

describe("the callers of a development stack", () => {
  for (const [layout, rows] of Object.entries<readonly ServiceProcess[]>(PROCESS_LAYOUTS)) {
    const settings = new Map(rows.map(({ name }) => [name, rpcSettings(SECRET, {}, rows, name)]));
    const authOf = (name: string) => createRpcAuth(readListedCallers(settings.get(name) ?? {}));

    it(`in the layout "${layout}", each process may make the calls of its services`, () => {
      for (const { name, services } of rows) {
        const authorization = `Bearer ${settings.get(name)?.RPC_TOKEN}`;
        for (const method of methodsOf(services)) {
          const callee = SERVICE_ADDRESSES[method.replace(/\/.*/, "")]?.name ?? "carrier";
          const server = rows.find((row) => row.services.includes(callee));
          if (server === undefined || server.name === name) continue;
          expect(authOf(server.name).authorize(method, authorization)).to.equal(name);
        }
      }
    });

    it(`in the layout "${layout}", only the operators and the developer fund wallets`, () => {
      const server = rows.find((row) => row.services.includes("wallet"))?.name ?? "";
      const fund = (token: string) => () =>
        authOf(server).authorize("sms.v1.WalletService/FundWallet", `Bearer ${token}`);
      for (const { name } of rows) expect(fund(callerToken(SECRET, name)), name).to.throw();
      expect(fund(callerToken(SECRET, OPERATOR))()).to.equal(OPERATOR);
      expect(fund(SECRET)()).to.equal("developer");
    });
  }

  it("are the environment's own where it lists them", () => {
    const rows = PROCESS_LAYOUTS.apart;
    const own = { RPC_TOKENS: "{}", RPC_TOKEN: "own" };
    expect(rpcSettings(SECRET, own, rows, "wallet")).to.deep.equal({ RPC_TOKEN: "own" });
  });
});
