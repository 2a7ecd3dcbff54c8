import { expect } from "chai";
import { createEndpointBuffers } from "../../../services/webhook/app/endpoint-buffers.ts";
import { createConcurrencyLimiter } from "../../../services/webhook/domain/concurrency-limits.ts";

const LIMITS = { perEndpoint: 100, total: 300 };

describe("the buffers of webhook endpoints", () => {
  const open = () => {
    const many = 1000;
    const limiter = createConcurrencyLimiter({
      ...{ perEndpoint: many, perTenant: many, slowPerTenant: many, total: many, slowTotal: many },
      ...{ unprovenTotal: many, freshTotal: many, freshWindow: 1, window: 2, slowWindow: 8 },
      hangMs: 10_000,
    });
    return createEndpointBuffers(LIMITS, limiter);
  };
  /** Reserves all places that an endpoint may have. */
  const fill = (buffers: ReturnType<typeof open>, endpoint: string): number => {
    const room = buffers.room("ten", endpoint);
    buffers.get("ten", endpoint).reserved += room;
    buffers.count(room);
    return room;
  };

  it("leave a few places to other endpoints when three backlogs fill them", () => {
    const buffers = open();
    expect(["a", "b", "c"].map((name) => fill(buffers, name))).to.deep.equal([100, 100, 100]);
    expect(fill(buffers, "d")).to.equal(16);
    expect(fill(buffers, "d")).to.equal(0);
    expect(fill(buffers, "e")).to.equal(16);
  });

  it("bound those few places together by the total once more", () => {
    const buffers = open();
    const taken = Array.from({ length: 100 }, (_, at) => fill(buffers, `e${at}`));
    expect(taken.reduce((sum, one) => sum + one, 0)).to.equal(2 * LIMITS.total);
    expect(buffers.waiting).to.equal(2 * LIMITS.total);
    expect(buffers.room("ten", "late")).to.equal(0);
  });
});
