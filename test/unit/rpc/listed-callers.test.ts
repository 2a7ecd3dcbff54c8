import { create } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { expect } from "chai";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { ConfigError } from "../../../services/shared/io/config.ts";
import { createRpcAuth } from "../../../services/shared/rpc/auth.ts";
import { readListedCallers } from "../../../services/shared/rpc/listed-callers.ts";
import { restrictMethods } from "../../../services/shared/rpc/restrict-methods.ts";

const TOKEN = "0123456789abcdef";
const GET = "sms.v1.WalletService/GetWallet";
const LISTS = JSON.stringify({ gateway: [GET], "sender-id": ["sms.v1.TenantService/*"] });
const TOKENS = { RPC_TOKEN_OF_GATEWAY: `${TOKEN}-g`, RPC_TOKEN_OF_SENDER_ID: `${TOKEN}-s` };

describe("callers listed apart from their tokens", () => {
  it("have the methods of the list, and the tokens of their settings", () => {
    const env = { RPC_CALLERS: LISTS, ...TOKENS, RPC_OTHER_TOKEN_OF_GATEWAY: `${TOKEN}-next` };
    const auth = createRpcAuth(readListedCallers(env));
    for (const token of [`${TOKEN}-g`, `${TOKEN}-next`]) {
      expect(auth.authorize(GET, `Bearer ${token}`)).to.equal("gateway");
    }
    expect(() => auth.authorize("sms.v1.WalletService/FundWallet", `Bearer ${TOKEN}-g`)).to.throw(
      /may not call/,
    );
    expect(() => auth.authorize(GET, `Bearer ${TOKEN}-s`)).to.throw(/may not call/);
  });

  const faults: Readonly<Record<string, NodeJS.ProcessEnv>> = {
    "RPC_CALLERS must be a JSON object": { RPC_CALLERS: "{" },
    "RPC_CALLERS must name a caller": { RPC_CALLERS: "{}" },
    "RPC_TOKEN_OF_GATEWAY is required": { RPC_CALLERS: LISTS },
    "RPC_TOKEN_OF_GATEWAY: a token needs at least 16": {
      RPC_CALLERS: LISTS,
      RPC_TOKEN_OF_GATEWAY: "short",
    },
    "RPC_CALLERS.a is empty": { RPC_CALLERS: '{"a": []}', RPC_TOKEN_OF_A: TOKEN },
    'RPC_CALLERS.a: "GetWallet" is not a method': {
      RPC_CALLERS: '{"a": ["GetWallet"]}',
      RPC_TOKEN_OF_A: TOKEN,
    },
  };
  for (const [words, env] of Object.entries(faults)) {
    it(`a fault is named: ${words}`, () => {
      expect(() => readListedCallers(env)).to.throw(ConfigError, words);
    });
  }
});

describe("a client of a caller", () => {
  it("calls what is in its list, and refuses anything else before it sends it", async () => {
    const asked: string[] = [];
    const transport = {
      async unary(method: { name: string; output: never }) {
        asked.push(method.name);
        return { stream: false, message: create(method.output) };
      },
    } as unknown as Transport;
    const restricted = restrictMethods(transport, WalletService, "gateway", [GET]);
    const client = createClient(WalletService, restricted);
    await client.getWallet({});
    const error = await client.fundWallet({}).catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain("gateway calls sms.v1.WalletService/FundWallet");
    expect(asked).to.deep.equal(["GetWallet"]);
  });
});
