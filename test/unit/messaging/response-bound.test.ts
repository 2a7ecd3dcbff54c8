import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { SendMessagesRequestSchema } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { checkResponseSize } from "../../../services/messaging/adapters/rpc-batch-send.ts";

describe("the bound of recipients in one call", () => {
  const request = (letter: string, length: number) =>
    create(SendMessagesRequestSchema, { recipients: [{ to: letter.repeat(length) }] });

  it("counts octets, as the answer does, not letters", () => {
    expect(() => checkResponseSize([request("a", 4_194_304)])).not.to.throw();
    expect(() => checkResponseSize([request("a", 4_194_305)])).to.throw();
    expect(() => checkResponseSize([request("字", 1_400_000)])).to.throw();
  });
});
