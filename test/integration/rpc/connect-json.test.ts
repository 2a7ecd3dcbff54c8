import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createRpcAuth } from "../../../services/shared/rpc/auth.ts";
import { guardPage } from "../../../services/shared/rpc/authenticated-page.ts";
import { currentCall } from "../../../services/shared/rpc/call-context.ts";
import type { CallReport } from "../../../services/shared/rpc/call-report.ts";
import { createJsonOps } from "../../../services/shared/rpc/connect-json.ts";

type Answer = { wallet?: unknown; code?: string; message?: string; details?: unknown };

const TOKEN = "token-of-an-operator";
const LESSER_TOKEN = "token-of-a-service";
const GET_WALLET = "sms.v1.WalletService/GetWallet";

describe("RPC in JSON on the ops port", () => {
  const reports: CallReport[] = [];
  let server: Server;
  let base: string;

  before(async () => {
    const auth = createRpcAuth([
      { name: "operator", tokens: [TOKEN], methods: [GET_WALLET, "sms.v1.Carrier/*"] },
      { name: "service", tokens: [LESSER_TOKEN], methods: [GET_WALLET] },
    ]);
    const answer = (response: ServerResponse) => void response.end("shown");
    const page = { path: "/a-page", method: "sms.v1.Carrier/ListPages", answer };
    const guarded = guardPage(page, auth);
    const json = createJsonOps({
      routes: (router) =>
        router.service(WalletService, {
          getWallet({ tenantId }) {
            if (tenantId === "none") throw new AppError("not_found", "No such wallet.");
            if (tenantId === "bug") throw new Error("a detail of ours");
            const { requestId, caller } = currentCall();
            return { wallet: { tenantId, currency: `${requestId} ${caller}`, balance: 42n } };
          },
        }),
      auth,
      onCall: (report) => reports.push(report),
      maxMessageBytes: 1000,
    });
    server = createServer((request, response) => {
      if (!json(request, response) && !guarded(request, response)) response.writeHead(418).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  async function post(path: string, body: unknown, token: string | undefined = TOKEN) {
    const response = await fetch(`${base}/${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-request-id": "req_1",
        ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Answer };
  }

  it("answers a method posted as JSON, within the same call context", async () => {
    const { status, body } = await post(GET_WALLET, { tenantId: "ten_1" });
    expect(status).to.equal(200);
    expect(body.wallet).to.deep.equal({
      tenantId: "ten_1",
      currency: "req_1 operator",
      balance: "42",
    });
    expect(reports.at(-1)).to.include({ method: GET_WALLET, code: "OK" });
  });

  it("shows a page of customer data only to callers that may read it", async () => {
    const get = async (token: string | undefined, method = "GET") =>
      (
        await fetch(`${base}/a-page?x`, {
          method,
          headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        })
      ).status;
    expect(await get(TOKEN)).to.equal(200);
    expect(await get(undefined)).to.equal(401);
    expect(await get("another-token-of-somebody")).to.equal(401);
    expect(await get(LESSER_TOKEN)).to.equal(403);
    expect(await get(TOKEN, "POST"), "another handler's").to.equal(418);
  });

  it("returns our errors with their code, and hides other errors", async () => {
    const missing = await post(GET_WALLET, { tenantId: "none" });
    expect(missing.status).to.equal(404);
    expect(missing.body).to.include({ code: "not_found", message: "No such wallet." });
    expect(JSON.stringify(missing.body.details)).to.include("google.rpc.ErrorInfo");
    const bug = await post(GET_WALLET, { tenantId: "bug" });
    expect(bug.status).to.equal(500);
    expect(JSON.stringify(bug.body)).not.to.include("a detail of ours");
    expect(reports.at(-1)?.code).to.equal("INTERNAL");
  });

  it("requires the same tokens as gRPC", async () => {
    expect((await post(GET_WALLET, {}, "")).status).to.equal(401);
    const refused = await post("sms.v1.WalletService/FundWallet", {});
    expect(refused.status).to.equal(403);
    const [info] = refused.body.details as { readonly type: string; readonly value: string }[];
    expect(info?.type).to.equal("google.rpc.ErrorInfo");
    expect(Buffer.from(info?.value ?? "", "base64").toString()).to.include("service_not_permitted");
  });

  it("refuses bodies above the limit", async () => {
    const { body } = await post(GET_WALLET, { tenantId: "x".repeat(2000) });
    expect(body.code).to.equal("resource_exhausted");
  });

  it("does not handle other paths", async () => {
    expect((await fetch(`${base}/metrics`)).status).to.equal(418);
  });
});
