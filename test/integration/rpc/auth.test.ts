import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { Health } from "../../../proto/gen/grpc/health/v1/health_pb.js";
import { ServerReflection } from "../../../proto/gen/grpc/reflection/v1/reflection_pb.js";
import { createRpcAuth } from "../../../services/shared/rpc/auth.ts";
import { currentCall } from "../../../services/shared/rpc/call-context.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import type { Routes } from "../../../services/shared/rpc/routes.ts";
import { createTestAuthority } from "../../support/rpc-certificates.ts";
import { EchoService } from "../../support/rpc-echo.ts";
import { createRpcLinks } from "../../support/rpc-links.ts";

const serverName = "localhost";
const TOKEN = "token-of-the-gateway";
const auth = createRpcAuth([
  {
    name: "gateway",
    tokens: ["the-token-before-that", TOKEN],
    methods: ["test.EchoService/Say"],
    certificateNames: ["gateway.sms"],
  },
]);

const routes: Routes = (router) =>
  router.service(EchoService, {
    say: () => ({ value: currentCall().caller ?? "nobody" }),
    async *count() {
      yield { value: 1n };
    },
  });

describe("RPC authentication", () => {
  const links = createRpcLinks();
  afterEach(() => links.close());

  async function connect(token?: string) {
    const { target } = await links.serve({ routes, auth });
    return links.connect({ target, token });
  }

  it("lets a caller with any of its tokens use its methods, and names it to the handler", async () => {
    for (const token of [TOKEN, "the-token-before-that"]) {
      const client = createClient(EchoService, await connect(token));
      expect((await client.say({})).value).to.equal("gateway");
    }
  });

  it("refuses a missing, wrong, cut and lengthened token before the handler runs", async () => {
    for (const token of [undefined, "wrong-token-of-gateway", TOKEN.slice(0, -1), `${TOKEN}x`]) {
      const error = await failureOf(createClient(EchoService, await connect(token)).say({}));
      expect(error.code, token).to.equal(Code.Unauthenticated);
      expect(toAppError(error).code, "no fault of the caller's own caller").to.equal(
        "internal_error",
      );
    }
  });

  it("refuses a method that the caller may not use", async () => {
    const client = createClient(EchoService, await connect(TOKEN));
    const error = await failureOf(
      (async () => {
        for await (const _ of client.count({})) throw new Error("an answer came");
      })(),
    );
    expect(error.code).to.equal(Code.PermissionDenied);
  });

  it("answers health and reflection without a token", async () => {
    const transport = await connect();
    await createClient(Health, transport).check({});
    const reflection = createClient(ServerReflection, transport);
    async function* ask() {
      yield { messageRequest: { case: "listServices" as const, value: "" } };
    }
    let answers = 0;
    for await (const _ of reflection.serverReflectionInfo(ask())) answers += 1;
    expect(answers).to.equal(1);
  });

  it("over mutual TLS identifies the caller by its certificate, and refuses a caller without one", async () => {
    const authority = createTestAuthority();
    const { ca } = authority;
    const { port } = await links.serve({ routes, auth, tls: { ...authority.server(), ca } });
    const call = (tls: object) => {
      const transport = links.connect({
        target: `127.0.0.1:${port}`,
        tls: { ca, serverName, ...tls },
      });
      return createClient(EchoService, transport).say({}, { timeoutMs: 5000 });
    };
    expect((await call(authority.client("gateway.sms"))).value).to.equal("gateway");
    const stranger = await failureOf(call(authority.client("stranger.sms")));
    expect(stranger.code).to.equal(Code.Unauthenticated);
    expect((await failureOf(call({}))).code, "no certificate").to.equal(Code.Unavailable);
    const forged = await failureOf(call(createTestAuthority().client("gateway.sms")));
    expect(forged.code, "a certificate of another authority").to.equal(Code.Unavailable);
  });

  it("over TLS a client trusts only servers of its authority and of the name it expects", async () => {
    const authority = createTestAuthority();
    const { port } = await links.serve({ routes, tls: authority.server() });
    const call = (tls: { ca: Buffer; serverName: string }) => {
      const transport = links.connect({ target: `127.0.0.1:${port}`, tls });
      return createClient(EchoService, transport).say({}, { timeoutMs: 5000 });
    };
    expect((await call({ ca: authority.ca, serverName })).value).to.equal("nobody");
    const strange = await failureOf(call({ ca: createTestAuthority().ca, serverName }));
    expect(strange.code).to.equal(Code.Unavailable);
    const misnamed = await failureOf(call({ ca: authority.ca, serverName: "other.example" }));
    expect(misnamed.code).to.equal(Code.Unavailable);
  });
});

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(ConnectError);
  return outcome as ConnectError;
}
