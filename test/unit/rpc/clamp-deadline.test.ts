import { expect } from "chai";
import { shortenDeadline } from "../../../services/shared/rpc/clamp-deadline.ts";

describe("deadlines far in the future", () => {
  for (const [sent, read] of [
    ["5S", "5S"],
    ["99999999n", "99999999n"],
    ["99999999m", "99999999m"],
    ["2147483S", "2147483S"],
    ["2147484S", "2147483S"],
    ["99999999H", "2147483S"],
    ["99999999M", "2147483S"],
    ["123456789S", "123456789S"],
    ["soon", "soon"],
  ] as const) {
    it(`${sent} is read as ${read}`, () => {
      const headers = { "grpc-timeout": sent as string };
      shortenDeadline(headers);
      expect(headers["grpc-timeout"]).to.equal(read);
    });
  }
});
