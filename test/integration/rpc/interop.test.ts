import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  Int64ValueSchema,
  StringValueSchema,
} from "@bufbuild/protobuf/wkt";
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { expect } from "chai";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from "../../../proto/gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../proto/gen/google/rpc/status_pb.js";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../../proto/gen/grpc/reflection/v1/reflection_pb.js";
import { GetWalletRequestSchema, WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import type { Routes } from "../../../services/shared/rpc/routes.ts";
import { EchoService } from "../../support/rpc-echo.ts";
import { createRpcLinks } from "../../support/rpc-links.ts";

const routes: Routes = (router) => {
  router.service(WalletService, {
    getWallet({ tenantId }) {
      if (tenantId === "") {
        throw new AppError("validation_error", "The request is not valid.", {
          fields: [{ field: "tenant_id", code: "required", message: "Name a tenant." }],
        });
      }
      if (tenantId === "busy") throw new AppError("service_unavailable", "Busy.");
      return { wallet: { tenantId, currency: "NGN", balance: -1n } };
    },
  });
  router.service(EchoService, {
    say(request, { requestHeader, responseHeader, responseTrailer }) {
      responseHeader.set("x-head", requestHeader.get("x-in") ?? "");
      responseTrailer.set("x-tail-bin", requestHeader.get("x-in-bin") ?? "");
      return request;
    },
    async *count({ value }) {
      for (let n = 1n; n <= value; n += 1n) yield { value: n };
    },
    async sum(requests) {
      let total = 0n;
      for await (const { value } of requests) total += value;
      return { value: total };
    },
    async *chat(requests) {
      for await (const request of requests) yield request;
    },
  });
};

describe("a stock grpc-js client", () => {
  const links = createRpcLinks();
  let client: Client;

  beforeEach(async () => {
    const { target } = await links.serve({ routes, maxMessageBytes: 64 * 1024 });
    client = new Client(target, credentials.createInsecure());
  });
  afterEach(() => {
    client.close();
    return links.close();
  });

  const text = (value: string) => create(StringValueSchema, { value });
  const packText = (message: ReturnType<typeof text>) =>
    Buffer.from(toBinary(StringValueSchema, message));
  const readText = (bytes: Buffer) => fromBinary(StringValueSchema, bytes);
  const packNumber = (value: bigint) =>
    Buffer.from(toBinary(Int64ValueSchema, create(Int64ValueSchema, { value })));
  const readNumber = (bytes: Buffer) => fromBinary(Int64ValueSchema, bytes).value;

  function getWallet(tenantId: string): Promise<bigint | undefined> {
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        "/sms.v1.WalletService/GetWallet",
        (message: ReturnType<typeof create<typeof GetWalletRequestSchema>>) =>
          Buffer.from(toBinary(GetWalletRequestSchema, message)),
        (bytes) => fromBinary(WalletService.method.getWallet.output, bytes),
        create(GetWalletRequestSchema, { tenantId }),
        (error, response) => (error ? reject(error) : resolve(response?.wallet?.balance)),
      );
    });
  }

  it("makes unary calls, negative int64 included", async () => {
    expect(await getWallet("ten_1")).to.equal(-1n);
  });

  it("reads the standard details of an error from grpc-status-details-bin", async () => {
    const refused = await failureOf(getWallet(""));
    expect(refused).to.include({ code: status.INVALID_ARGUMENT });
    expect(refused.details).to.equal("The request is not valid.");
    const { code, message, details } = detailsOf(refused);
    expect({ code, message }).to.deep.equal({ code: 3, message: "The request is not valid." });
    expect(details.map(({ typeUrl }) => typeUrl)).to.deep.equal([
      "type.googleapis.com/google.rpc.ErrorInfo",
      "type.googleapis.com/google.rpc.BadRequest",
    ]);
    const [info, bad] = details;
    expect(fromBinary(ErrorInfoSchema, info?.value ?? NONE)).to.include({
      reason: "validation_error",
      domain: "sms",
    });
    expect(fromBinary(BadRequestSchema, bad?.value ?? NONE).fieldViolations[0]).to.include({
      field: "tenant_id",
      reason: "required",
      description: "Name a tenant.",
    });

    const busy = detailsOf(await failureOf(getWallet("busy")));
    const retry = busy.details.find(({ typeUrl }) => typeUrl.endsWith("RetryInfo"));
    expect(fromBinary(RetryInfoSchema, retry?.value ?? NONE).retryDelay?.seconds).to.equal(1n);
  });

  it("sends and receives metadata, text and binary, with a reply's headers before its message", async () => {
    const metadata = new Metadata();
    metadata.set("x-in", "hello");
    metadata.set("x-in-bin", Buffer.of(0, 255, 7));
    const events: string[] = [];
    const trailers = await new Promise<Metadata>((resolve, reject) => {
      const path = "/test.EchoService/Say";
      const call = client.makeUnaryRequest(
        path,
        packText,
        readText,
        text("a"),
        metadata,
        (error) => (error ? reject(error) : events.push("message")),
      );
      call.on("metadata", (head: Metadata) => events.push(`head ${head.get("x-head")[0]}`));
      call.on("status", ({ metadata: tail }: { metadata: Metadata }) => resolve(tail));
    });
    expect(events).to.deep.equal(["head hello", "message"]);
    expect(trailers.get("x-tail-bin")[0]).to.deep.equal(Buffer.of(0, 255, 7));
  });

  it("reads a stream far larger than the flow-control window, at its own rate", async () => {
    const stream = client.makeServerStreamRequest(
      "/test.EchoService/Count",
      packNumber,
      readNumber,
      20_000n,
    );
    let last = 0n;
    for await (const n of stream) {
      expect(n).to.equal(last + 1n);
      last = n as bigint;
    }
    expect(last).to.equal(20_000n);
  });

  it("writes a stream of requests", async () => {
    const total = await new Promise<bigint | undefined>((resolve, reject) => {
      const stream = client.makeClientStreamRequest(
        "/test.EchoService/Sum",
        packNumber,
        readNumber,
        (error, sum) => (error ? reject(error) : resolve(sum)),
      );
      for (let n = 1n; n <= 1000n; n += 1n) stream.write(n);
      stream.end();
    });
    expect(total).to.equal(500_500n);
  });

  it("exchanges messages in both directions on one stream", async () => {
    const stream = client.makeBidiStreamRequest("/test.EchoService/Chat", packText, readText);
    const received: string[] = [];
    stream.write(text("0"));
    for await (const { value } of stream) {
      received.push(value);
      if (received.length < 50) stream.write(text(String(received.length)));
      else stream.end();
    }
    expect(received).to.deep.equal(Array.from({ length: 50 }, (_, n) => String(n)));
  });

  it("gets UNIMPLEMENTED for an unknown method and INVALID_ARGUMENT for malformed bytes", async () => {
    const call = (path: string, bytes: Buffer) =>
      failureOf(
        new Promise((resolve, reject) => {
          client.makeUnaryRequest(
            path,
            () => bytes,
            readText,
            null,
            (error, answer) => (error ? reject(error) : resolve(answer)),
          );
        }),
      );
    expect(await call("/test.EchoService/Nothing", Buffer.alloc(0))).to.include({
      code: status.UNIMPLEMENTED,
    });
    const garbled = await call("/test.EchoService/Say", Buffer.of(0x0a, 0xff));
    expect(garbled).to.include({ code: status.INVALID_ARGUMENT });
    const [info] = detailsOf(garbled).details;
    expect(fromBinary(ErrorInfoSchema, info?.value ?? NONE).reason).to.equal("bad_request");
  });

  it("gets RESOURCE_EXHAUSTED for a message above the limit, in either direction", async () => {
    const say = (length: number) =>
      new Promise((resolve, reject) => {
        const path = "/test.EchoService/Say";
        client.makeUnaryRequest(
          path,
          packText,
          readText,
          text("x".repeat(length)),
          (error, answer) => (error ? reject(error) : resolve(answer)),
        );
      });
    expect(await say(60_000))
      .to.have.property("value")
      .with.lengthOf(60_000);
    expect(await failureOf(say(70_000))).to.include({ code: status.RESOURCE_EXHAUSTED });
  });

  for (const version of ["v1", "v1alpha"]) {
    it(`lists the services by reflection ${version}, as grpcurl does`, async () => {
      const ask = await openReflection(client, version);
      const listed = await ask({ case: "listServices", value: "" });
      expect(listed.case).to.equal("listServicesResponse");
      const names =
        listed.case === "listServicesResponse" ? listed.value.service.map(({ name }) => name) : [];
      expect(names).to.deep.equal([
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "sms.v1.WalletService",
        "test.EchoService",
      ]);

      // The types of error details, which such tools show.
      for (const name of ["ErrorInfo", "BadRequest", "RetryInfo"]) {
        const symbol = `google.rpc.${name}`;
        const [file] = filesOf(await ask({ case: "fileContainingSymbol", value: symbol }));
        expect(file, symbol).to.equal("google/rpc/error_details.proto");
      }

      const symbols = [
        "sms.v1.WalletService",
        "sms.v1.WalletService.GetWallet",
        "sms.v1.Wallet",
        "sms.v1.Wallet.balance",
        "sms.v1.EntryKind",
      ];
      for (const symbol of symbols) {
        const files = filesOf(await ask({ case: "fileContainingSymbol", value: symbol }));
        expect(files[0], symbol).to.equal("sms/v1/wallet.proto");
        expect(files, "its imports come along").to.include("sms/v1/common.proto");
      }
      expect(
        filesOf(await ask({ case: "fileByFilename", value: "sms/v1/common.proto" })),
      ).to.include("sms/v1/common.proto");
      const unknown = await ask({ case: "fileContainingSymbol", value: "sms.v1.Nothing" });
      expect(unknown.case === "errorResponse" && unknown.value.errorCode).to.equal(
        status.NOT_FOUND,
      );
      await ask(undefined);
    });
  }
});

type Question = ServerReflectionRequest["messageRequest"];
type Answer = ServerReflectionResponse["messageResponse"];

/** Sends one request after the other on one stream; `undefined` closes it. */
async function openReflection(client: Client, version: string) {
  const stream = client.makeBidiStreamRequest(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    (request: ServerReflectionRequest) =>
      Buffer.from(toBinary(ServerReflectionRequestSchema, request)),
    (bytes): ServerReflectionResponse => fromBinary(ServerReflectionResponseSchema, bytes),
  );
  const answers = stream[Symbol.asyncIterator]() as AsyncIterator<ServerReflectionResponse>;
  return async (messageRequest: Question | undefined): Promise<Answer> => {
    if (messageRequest === undefined) {
      stream.end();
      expect((await answers.next()).done).to.equal(true);
      return { case: undefined };
    }
    stream.write(create(ServerReflectionRequestSchema, { messageRequest }));
    const { value } = await answers.next();
    return (value as ServerReflectionResponse).messageResponse;
  };
}

function filesOf(answer: Answer): string[] {
  expect(answer.case).to.equal("fileDescriptorResponse");
  if (answer.case !== "fileDescriptorResponse") return [];
  return answer.value.fileDescriptorProto.map(
    (bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name,
  );
}

const NONE = new Uint8Array();

function detailsOf(error: ServiceError) {
  const bytes = error.metadata.get("grpc-status-details-bin")[0];
  return fromBinary(StatusSchema, bytes as Buffer);
}

async function failureOf(call: Promise<unknown>): Promise<ServiceError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(outcome).to.be.instanceOf(Error);
  return outcome as ServiceError;
}
