import { expect } from "chai";
import fc from "fast-check";
import {
  type PendingRequest,
  RequestWindow,
} from "../../../services/shared/smpp/request-window.ts";

function request(token?: string): PendingRequest {
  return {
    command: "submit_sm",
    body: undefined,
    tlvs: undefined,
    token,
    isControl: false,
    writtenAtMs: 0,
    deadlineMs: 100,
    settle: () => {},
  };
}

describe("RequestWindow", () => {
  it("the window and the queue stay within their bounds and lose no request", () => {
    const step = fc.constantFrom("add", "hold", "answer", "expire", "release");
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 5 }),
        (steps, max) => {
          const window = new RequestWindow(max, 7);
          const open: number[] = [];
          let sequence = 0;
          let added = 0;
          let ended = 0;
          for (const what of steps) {
            if (what === "add" && window.enqueue(request(`t${added}`))) added++;
            else if (what === "hold") {
              for (const held of window.hold()) {
                window.written(held, ++sequence);
                open.push(sequence);
              }
            } else if (what === "answer" && open.length > 0) {
              expect(window.answered(open.shift() as number)).to.not.equal(undefined);
              ended++;
            } else if (what === "expire") {
              ended += window.expire(100).length;
              open.length = 0;
            } else if (what === "release") {
              for (const _ of window.hold()) {
                window.release();
                ended++;
              }
            }
            expect(window.inFlight).to.equal(open.length).and.at.most(max);
            expect(window.queued).to.be.at.most(7);
            expect(added).to.equal(ended + window.inFlight + window.queued);
          }
          expect(window.clearQueue().length + window.clearWritten().length).to.equal(added - ended);
        },
      ),
    );
  });

  it("requests leave in the order in which they were added", () => {
    const window = new RequestWindow(2, 10);
    for (const token of ["a", "b", "c"]) window.enqueue(request(token));
    expect(window.hold().map(({ token }) => token)).to.deep.equal(["a", "b"]);
  });

  it("a late answer finds its token once, and only after the deadline", () => {
    const window = new RequestWindow(2, 10);
    window.enqueue(request("a"));
    for (const held of window.hold()) window.written(held, 1);
    expect(window.expire(99)).to.have.length(0);
    expect(window.expire(100)).to.have.length(1);
    expect(window.lateToken(1)).to.equal("a");
    expect(window.lateToken(1)).to.equal(undefined);
  });

  it("the oldest of too many timed-out requests is dropped", () => {
    const window = new RequestWindow(2000, 2000);
    for (let i = 0; i < 40_000; i++) {
      window.enqueue(request(`t${i}`));
      for (const held of window.hold()) window.written(held, i);
      window.expire(100);
    }
    expect(window.lateToken(0)).to.equal(undefined);
    expect(window.lateToken(39_999)).to.equal("t39999");
  });

  it("control requests take no slot of the window", () => {
    const window = new RequestWindow(1, 1);
    window.written({ ...request(), isControl: true }, 1);
    expect(window.free).to.equal(1);
    window.answered(1);
    expect(window.inFlight).to.equal(0);
  });
});
