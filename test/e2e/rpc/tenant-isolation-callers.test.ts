/**
 * Every RPC of every service, found in the generated code: a caller without a valid token is refused before its
 * request is decoded. The request here is malformed, so only an authorised caller gets a decoding error.
 */
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { expect } from "chai";
import { oneProcessStack } from "../../support/rest.ts";
import { allRpcMethods, type RpcMethod } from "../../support/rpc-methods.ts";
import type { TestStack } from "../../support/stack.ts";

/** A field with a tag of nine bytes, which protobuf does not have. */
const NO_MESSAGE = Buffer.from("ffffffffffffffffff", "hex");
const AS_IS = (octets: Buffer): Buffer => octets;

const methods = await allRpcMethods();

describe("RPC callers: every method of every service", function () {
  this.timeout(30_000);
  let stack: TestStack;
  let client: Client;

  before(async function () {
    this.timeout(180_000);
    ({ stack } = await oneProcessStack());
    client = new Client(stack.grpc.messaging ?? "", credentials.createInsecure());
  });
  after(() => client?.close());

  /** The status of a call over gRPC whose request cannot be decoded. */
  function call(
    { name, desc }: RpcMethod,
    authorization: string | undefined,
  ): Promise<ServiceError> {
    const metadata = new Metadata();
    if (authorization !== undefined) metadata.set("authorization", authorization);
    const deadline = Date.now() + 10_000;
    return new Promise((resolve, reject) => {
      if (desc.methodKind === "unary") {
        const done = (error: ServiceError | null) =>
          error === null ? reject(new Error(`${name} answered`)) : resolve(error);
        const path = `/${name}`;
        client.makeUnaryRequest(path, AS_IS, AS_IS, NO_MESSAGE, metadata, { deadline }, done);
        return;
      }
      const stream = client.makeServerStreamRequest(
        `/${name}`,
        AS_IS,
        AS_IS,
        NO_MESSAGE,
        metadata,
        { deadline },
      );
      stream.once("data", () => reject(new Error(`${name} answered`)));
      stream.once("end", () => reject(new Error(`${name} ended well`)));
      stream.once("error", (error) => resolve(error as ServiceError));
    });
  }

  /** The same in JSON on the ops port. */
  function post({ name }: RpcMethod, authorization: string | undefined): Promise<Response> {
    return fetch(`${stack.ops.messaging}/${name}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(authorization === undefined ? {} : { authorization }),
      },
      body: '{"no":"message"',
    });
  }

  const wrongTokens = (): (string | undefined)[] => [
    undefined,
    "",
    "Bearer ",
    "Bearer wrong-token-of-nobody",
    `Bearer ${stack.grpc_token.slice(0, -1)}`,
    `Bearer ${stack.grpc_token}x`,
    `Basic ${Buffer.from(`service:${stack.grpc_token}`).toString("base64")}`,
    stack.grpc_token,
    // A customer's API key is not a service token.
    `Bearer ${stack.api_key}`,
  ];

  it("knows all six services", () => {
    const services = new Set(methods.map(({ name }) => name.split("/")[0]));
    expect([...services]).to.include.members([
      "sms.v1.MessagingService",
      "sms.v1.RoutingService",
      "sms.v1.SenderIdService",
      "sms.v1.TenantService",
      "sms.v1.WalletService",
      "sms.v1.WebhookService",
    ]);
  });

  for (const method of methods) {
    it(`${method.name} refuses a caller with no token or a wrong one, before any work`, async () => {
      for (const authorization of wrongTokens()) {
        const error = await call(method, authorization);
        expect(error.code, `${authorization}: ${error.details}`).to.equal(status.UNAUTHENTICATED);
        expect(error.details).to.equal("A valid service token is required.");
        const answer = await post(method, authorization);
        expect(answer.status, `JSON, ${authorization}`).to.equal(401);
        expect(await answer.json()).to.include({ code: "unauthenticated" });
      }
    });

    it(`${method.name} reads the request of a caller with the token`, async () => {
      const error = await call(method, `Bearer ${stack.grpc_token}`);
      expect(error.code, error.details).to.equal(status.INVALID_ARGUMENT);
    });
  }
});
