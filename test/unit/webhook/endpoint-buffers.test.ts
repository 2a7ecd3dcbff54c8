import { expect } from "chai";
import { createLanes } from "../../../services/webhook/app/endpoint-buffers.ts";
import { createSlots } from "../../../services/webhook/domain/concurrency-limits.ts";

const LIMITS = { perLane: 100, total: 300 };

describe("lanes", () => {
  const open = () => {
    const many = 1000;
    const slots = createSlots({
      ...{ perEndpoint: many, perTenant: many, slowPerTenant: many, total: many, slowTotal: many },
      ...{ unprovenTotal: many, freshTotal: many, freshWindow: 1, window: 2, slowWindow: 8 },
      hangMs: 10_000,
    });
    return createLanes(LIMITS, slots);
  };
  /** Takes all the room that an endpoint has. */
  const fill = (lanes: ReturnType<typeof open>, endpoint: string): number => {
    const room = lanes.room("ten", endpoint);
    lanes.get("ten", endpoint).reserved += room;
    lanes.count(room);
    return room;
  };

  it("three backlogs take all there is, and others have a few places still", () => {
    const lanes = open();
    expect(["a", "b", "c"].map((name) => fill(lanes, name))).to.deep.equal([100, 100, 100]);
    expect(fill(lanes, "d")).to.equal(16);
    expect(fill(lanes, "d")).to.equal(0);
    expect(fill(lanes, "e")).to.equal(16);
  });

  it("those few are bounded, too: by as much again", () => {
    const lanes = open();
    const taken = Array.from({ length: 100 }, (_, at) => fill(lanes, `e${at}`));
    expect(taken.reduce((sum, one) => sum + one, 0)).to.equal(2 * LIMITS.total);
    expect(lanes.waiting).to.equal(2 * LIMITS.total);
    expect(lanes.room("ten", "late")).to.equal(0);
  });
});
