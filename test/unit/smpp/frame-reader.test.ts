import { expect } from "chai";
import fc from "fast-check";
import { FrameError } from "../../../services/shared/smpp/errors.ts";
import { FrameReader } from "../../../services/shared/smpp/frame-reader.ts";

const FRAME_BYTES_MAX = 1000;

function frame(length: number, fill: number): Buffer {
  const buffer = Buffer.alloc(length, fill);
  buffer.writeUInt32BE(length, 0);
  return buffer;
}

function read(chunks: Buffer[]): string[] {
  const frames: string[] = [];
  const reader = new FrameReader(FRAME_BYTES_MAX, (buffer, start, end) => {
    frames.push(buffer.toString("hex", start, end));
  });
  for (const chunk of chunks) reader.push(chunk);
  return frames;
}

describe("FrameReader", () => {
  it("the reader returns the same frames for every division of the stream", () => {
    const frames = fc.array(
      fc.record({ length: fc.integer({ min: 16, max: FRAME_BYTES_MAX }), fill: fc.nat(255) }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(
        frames,
        fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1 }),
        (list, cuts) => {
          const sent = list.map(({ length, fill }) => frame(length, fill));
          const stream = Buffer.concat(sent);
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < stream.length; i++) {
            const size = cuts[i % cuts.length] as number;
            chunks.push(stream.subarray(at, at + size));
            at += size;
          }
          expect(read(chunks)).to.deep.equal(sent.map((one) => one.toString("hex")));
        },
      ),
    );
  });

  it("the reader returns the frames of a stream of single octets", () => {
    const stream = Buffer.concat([frame(16, 1), frame(20, 2)]);
    const chunks = [...stream].map((octet) => Buffer.from([octet]));
    expect(read(chunks)).to.have.length(2);
  });

  const BAD: [string, number, FrameError["reason"]][] = [
    ["zero", 0, "too_short"],
    ["less than a header", 15, "too_short"],
    ["one more than the limit", FRAME_BYTES_MAX + 1, "too_long"],
    ["16 MiB", 16 * 1024 * 1024, "too_long"],
    ["4 GiB", 0xffffffff, "too_long"],
  ];
  for (const [name, length, reason] of BAD) {
    it(`refuses a length of ${name} as soon as its four octets are there`, () => {
      const head = Buffer.alloc(4);
      head.writeUInt32BE(length, 0);
      const chunks = [head.subarray(0, 3), head.subarray(3)];
      for (const cut of [[head], chunks]) {
        expect(() => read(cut))
          .to.throw(FrameError)
          .with.property("reason", reason);
      }
    });
  }

  it("hasPartialFrame is true while a frame is incomplete", () => {
    const reader = new FrameReader(FRAME_BYTES_MAX, () => {});
    expect(reader.hasPartialFrame).to.equal(false);
    reader.push(frame(16, 1).subarray(0, 2));
    expect(reader.hasPartialFrame).to.equal(true);
    reader.push(frame(16, 1).subarray(2));
    expect(reader.hasPartialFrame).to.equal(false);
  });
});
