import { expect } from "chai";
import { createRecentPlaces } from "../../../services/campaign/store/recent-places.ts";

describe("the places of rows that were fed last", () => {
  it("belong to a set of rows and a number", () => {
    const places = createRecentPlaces();
    places.keep([
      { rowSet: "cmp_1", to: "+2348030000001", index: 0 },
      { rowSet: "cmp_2", to: "+2348030000001", index: 7 },
    ]);
    expect(places.find("cmp_1", "+2348030000001")).to.equal(0);
    expect(places.find("cmp_2", "+2348030000001")).to.equal(7);
    expect(places.find("cmp_3", "+2348030000001")).to.equal(undefined);
    expect(places.find("cmp_1", "+2348030000002")).to.equal(undefined);
  });

  it("are forgotten, the oldest first, when there are many", () => {
    const places = createRecentPlaces();
    const rows = Array.from({ length: 30_000 }, (_, index) => {
      return { rowSet: "cmp_1", to: `+${index}`, index };
    });
    places.keep(rows);
    const known = rows.filter(({ to, index }) => places.find("cmp_1", to) === index);
    expect(known.length).to.be.within(10_000, 20_000);
    expect(known[0]?.index).to.equal(rows.length - known.length);
  });
});
