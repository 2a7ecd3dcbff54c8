import { expect } from "chai";
import {
  type CountrySums,
  type DeliverySums,
  deliveryHealth,
} from "../../../services/carrier/domain/delivery-health.ts";

const sums = (submitted: number, delivered: number, undelivered = 0): DeliverySums => ({
  ...{ submitted, delivered, undelivered },
});
const at = (of: DeliverySums, country = "NG", connectorId = "smsc"): CountrySums[] => [
  { connectorId, country, ...of },
];

function compare(last: DeliverySums, recent: DeliverySums, baseline: DeliverySums) {
  const all = deliveryHealth({ last: at(last), recent: at(recent), baseline: at(baseline) });
  return all.find(({ country }) => country === "");
}

describe("the delivery health of a connector", () => {
  const usual = sums(10_000, 9000, 500);
  const table: readonly [string, DeliverySums, DeliverySums, DeliverySums, string][] = [
    ["its usual rate", sums(250, 225), sums(1000, 900), usual, "ok"],
    ["71 % of it", sums(250, 160), sums(1000, 639), usual, "ok"],
    ["69 % of it", sums(250, 155), sums(1000, 621, 300), usual, "low"],
    ["a low rate that is usual", sums(250, 75), sums(1000, 300), sums(10_000, 3000, 6000), "ok"],
    ["few submits", sums(20, 2), sums(99, 10), usual, "too_few"],
    ["a new route", sums(250, 20), sums(1000, 100), sums(150, 140), "too_few"],
    ["no receipt in a quarter of an hour", sums(30, 0), sums(1000, 700), usual, "no_receipts"],
    ["only undelivered ones", sums(30, 0, 20), sums(1000, 900), usual, "ok"],
    ["no receipt of few submits", sums(19, 0), sums(1000, 900), usual, "ok"],
    ["a carrier that sends none", sums(300, 0), sums(1000, 0), sums(10_000, 0), "ok"],
    ["no submits", sums(0, 0), sums(0, 0), usual, "too_few"],
  ];
  for (const [what, last, recent, baseline, state] of table) {
    it(`${what}: ${state}`, () => {
      expect(compare(last, recent, baseline)?.state).to.equal(state);
    });
  }

  it("counts the submits without a final receipt by age", () => {
    const health = compare(sums(0, 0), sums(100, 60, 10), sums(5000, 4000, 900));
    expect(health).to.include({ withoutReceiptHour: 30, withoutReceiptDay: 100 });
    expect(health?.rate).to.equal(0.6);
    expect(health?.baselineRate).to.equal(0.8);
  });

  it("names the submits since the last receipt only while receipts have stopped", () => {
    expect(compare(sums(30, 0), sums(1000, 700), usual)?.submitsSinceReceipt).to.equal(30);
    expect(compare(sums(30, 1), sums(1000, 700), usual)?.submitsSinceReceipt).to.equal(0);
  });

  it("never has a rate above one, though receipts may prove messages in doubt", () => {
    expect(compare(sums(0, 0), sums(100, 130), usual)).to.include({
      ...{ rate: 1, withoutReceiptHour: 0 },
    });
  });

  it("shows a country that is low although the connector is not", () => {
    const both = (ng: DeliverySums, gh: DeliverySums) => [...at(ng), ...at(gh, "GH")];
    const all = deliveryHealth({
      last: both(sums(250, 225), sums(25, 2)),
      recent: both(sums(1000, 900), sums(100, 10)),
      baseline: both(usual, sums(1000, 900)),
    });
    const states = all.map(({ country, state }) => `${country || "all"} ${state}`);
    expect(states).to.have.members(["all ok", "NG ok", "GH low"]);
  });

  it("keeps the twenty largest countries of a connector apart", () => {
    const many = Array.from({ length: 50 }, (_, rank) =>
      at(sums(1000 - rank, 900), `C${String(rank).padStart(2, "0")}`),
    ).flat();
    const all = deliveryHealth({ last: [], recent: many, baseline: many });
    const countries = all.map(({ country }) => country);
    expect(countries).to.have.length(22);
    expect(countries).to.include.members(["", "C00", "C19", "other"]);
    expect(countries).not.to.include("C20");
  });
});
