import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { SendMessagesRequestSchema } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { checkAnswer } from "../../../services/messaging/adapters/rpc-batch-send.ts";

describe("the bound of recipients in one call", () => {
  const request = (letter: string, length: number) =>
    create(SendMessagesRequestSchema, { recipients: [{ to: letter.repeat(length) }] });

  it("counts octets, as the answer does, not letters", () => {
    expect(() => checkAnswer([request("a", 4_194_304)])).not.to.throw();
    expect(() => checkAnswer([request("a", 4_194_305)])).to.throw();
    expect(() => checkAnswer([request("字", 1_400_000)])).to.throw();
  });
});
