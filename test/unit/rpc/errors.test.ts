import { Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import {
  BadRequestSchema,
  ErrorInfoSchema,
} from "../../../proto/gen/google/rpc/error_details_pb.js";
import { AppError, ERRORS, type ErrorCode } from "../../../services/shared/core/errors.ts";
import {
  markReceived,
  showError,
  toAppError,
  toConnectError,
} from "../../../services/shared/rpc/error-status.ts";
import { decodeStatus, encodeStatus } from "../../../services/shared/rpc/wire-status.ts";

/** The error as the caller receives it over the wire. */
const sent = (error: AppError): ConnectError => decodeStatus(encodeStatus(toConnectError(error)));

describe("RPC error mapping", () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    it(`${code} crosses the wire with its status, text, fields, facts and wait`, () => {
      const fields = [{ field: "messages[3].to", code: "required", message: "Say who." }];
      const extra = { required_amount: "4.0000" };
      const error = new AppError(code, "Grüße — 你好", { fields, extra });
      const received = sent(error);
      expect(received.code).to.equal(ERRORS[code].grpc);
      const rebuilt = toAppError(received);
      expect(rebuilt).to.include({ code, message: error.message });
      expect(rebuilt.retryAfterMs).to.equal(error.retryAfterMs);
      expect(rebuilt.fields).to.deep.equal(fields);
      expect(rebuilt.extra).to.deep.equal(extra);
    });
  }

  it("waits keep their milliseconds", () => {
    for (const retryAfterMs of [1, 999, 1000, 1001, 86_400_000]) {
      const error = new AppError("rate_limited", "Slow down.", { retryAfterMs });
      expect(toAppError(sent(error)).retryAfterMs).to.equal(retryAfterMs);
    }
  });

  it("without our details, only deadline, unreachable and cancelled are service_unavailable", () => {
    const outages = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled];
    for (const code of codes()) {
      const expected = outages.includes(code) ? "service_unavailable" : "internal_error";
      const rebuilt = toAppError(new ConnectError("connect ECONNREFUSED 10.0.0.7:1", code));
      expect(rebuilt.code, Code[code]).to.equal(expected);
      expect(rebuilt.message).not.to.include("10.0.0.7");
      expect(rebuilt.cause).to.be.instanceOf(ConnectError);
    }
  });

  it("a call cut by the other side without a status is an outage", () => {
    const of = (code: Code, how: string) =>
      toAppError(new ConnectError(`Received RST_STREAM with code ${how}`, code)).code;
    const cut = "0 (Call ended without gRPC status)";
    expect(of(Code.Internal, cut)).to.equal("service_unavailable");
    expect(of(Code.Internal, "2 (Internal server error)")).to.equal("service_unavailable");
    const broken = "2 triggered by internal client error: write EPIPE";
    expect(of(Code.Internal, broken)).to.equal("service_unavailable");
    expect(of(Code.Unknown, cut)).to.equal("internal_error");
    expect(of(Code.Internal, "1")).to.equal("internal_error");
    const own = "2 triggered by internal client error: Protocol error";
    expect(of(Code.Internal, own)).to.equal("internal_error");
  });

  it("details of another domain or with an unknown reason are ignored", () => {
    const of = (domain: string, reason: string) =>
      new ConnectError("text", Code.NotFound, undefined, [
        { desc: ErrorInfoSchema, value: { domain, reason } },
      ]);
    expect(toAppError(of("sms", "not_found")).code).to.equal("not_found");
    expect(toAppError(of("example.com", "not_found")).code).to.equal("internal_error");
    expect(toAppError(of("sms", "toString")).code).to.equal("internal_error");
  });

  it("a handler's own ConnectError passes unchanged; a received one is converted first", () => {
    const own = new ConnectError("nothing here", Code.NotFound);
    expect(showError(own)).to.deep.equal({ error: own, isFault: false });
    const received = markReceived(new ConnectError("nothing here", Code.NotFound));
    const shown = showError(received);
    expect(shown.error.code).to.equal(Code.Internal);
    expect(shown.isFault).to.equal(true);
    const business = showError(sent(new AppError("insufficient_balance", "Too little.")));
    expect(toAppError(business.error).code).to.equal("insufficient_balance");
    expect(business.isFault).to.equal(false);
  });

  it("any other exception is a fault with a fixed text", () => {
    for (const thrown of [new TypeError("x is undefined"), "text", undefined, null, 7]) {
      const { error, isFault } = showError(thrown);
      expect(isFault).to.equal(true);
      expect(error.code).to.equal(Code.Internal);
      expect(error.rawMessage).to.equal("Something went wrong on our side.");
    }
  });

  it("texts that no header can carry are encoded or cut", () => {
    const status = encodeStatus(new ConnectError(`${"é".repeat(5000)}`, Code.Aborted));
    expect(status.details).to.have.lengthOf(256);
    const plain = encodeStatus(new ConnectError(`${"e".repeat(5000)}`, Code.Aborted));
    expect(plain.details).to.have.lengthOf(1024);
    const broken = encodeStatus(new ConnectError("half \ud83d", Code.Aborted));
    expect(() => encodeURI(broken.details)).not.to.throw();
  });

  it("details stay below what gRPC stacks accept in trailers, and the code is never dropped", () => {
    const fields = Array.from({ length: 1000 }, (_, n) => ({
      field: `messages[${n}].to`,
      code: "invalid_recipient",
      message: "This is not a number that can receive messages.",
    }));
    const status = encodeStatus(
      toConnectError(new AppError("validation_error", "Not valid.", { fields })),
    );
    const bytes = status.metadata.get("grpc-status-details-bin")[0] as Buffer;
    expect(bytes.toString("base64").length).to.be.below(8192);
    const received = decodeStatus(status);
    expect(toAppError(received).code).to.equal("validation_error");
    expect(received.findDetails(BadRequestSchema)[0]?.fieldViolations ?? []).not.to.be.empty;
  });

  it("the text of a single invalid field that is too long is shortened", () => {
    const fields = [{ field: "scopes", code: "invalid_value", message: "x".repeat(5000) }];
    const received = sent(new AppError("validation_error", "Not valid.", { fields }));
    const [violation] = received.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [];
    expect(violation).to.include({ field: "scopes", reason: "invalid_value" });
  });

  it("a status with damaged details is still valid", () => {
    const status = encodeStatus(toConnectError(new AppError("not_found", "No.")));
    status.metadata.set("grpc-status-details-bin", Buffer.of(0xff, 0xff, 0xff));
    expect(decodeStatus(status)).to.include({ code: Code.NotFound, rawMessage: "No." });
    expect(toAppError(decodeStatus(status)).code).to.equal("internal_error");
  });
});

function codes(): Code[] {
  return Object.values(Code).filter((code): code is Code => typeof code === "number");
}
