import { expect } from "chai";
import fc from "fast-check";
import { createGrowableBuffer } from "../../../gateway/http/growable-buffer.ts";

describe("a growable buffer", () => {
  it("returns the bytes appended, and reports its allocation", () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 9000 }), { maxLength: 40 });
    fc.assert(
      fc.property(chunks, fc.nat(100_000), (parts, spare) => {
        const sent = Buffer.concat(parts);
        const buffer = createGrowableBuffer(sent.length + spare);
        let kept = 0;
        for (const part of parts) kept += buffer.append(Buffer.from(part));
        expect(buffer.bytes().equals(sent)).to.equal(true);
        expect(kept).to.be.at.least(sent.length);
        expect(kept).to.be.at.most(Math.max(4096, 2 * sent.length));
      }),
    );
  });

  it("does not copy a single chunk", () => {
    const buffer = createGrowableBuffer(10);
    const chunk = Buffer.from("{}");
    expect(buffer.append(chunk)).to.equal(2);
    expect(buffer.bytes().buffer).to.equal(chunk.buffer);
  });
});
