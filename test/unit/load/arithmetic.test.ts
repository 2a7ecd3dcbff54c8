import { expect } from "chai";
import { nextRate } from "../../load/highest-rate.ts";
import { spreadOf } from "../../load/spread.ts";
import { drawPanels } from "../../load/svg-chart.ts";
import { type Sample, trendOf } from "../../load/trend.ts";

const TOLERANCE = { share: 0.1, absolute: 0 };
const samples = (count: number, value: (at: number) => number): Sample[] =>
  Array.from({ length: count }, (_, at) => [at * 10, value(at)]);

describe("a series that is checked", () => {
  for (const [what, isFlat, value] of [
    ["stays where it is", true, () => 100],
    ["falls", true, (at: number) => 200 - at],
    ["rises by less than a tenth", true, (at: number) => 100 + at * 0.09],
    ["rises by more than a tenth", false, (at: number) => 100 + at * 0.2],
    ["rises only while it warms up", true, (at: number) => (at < 25 ? at * 4 : 100)],
    ["swings", true, (at: number) => 100 + (at % 7) * 10],
    ["rises while it swings", false, (at: number) => 100 + (at % 7) * 10 + at],
    ["has outliers at its end", true, (at: number) => (at > 95 ? 5000 : 100)],
  ] as const) {
    it(`is ${isFlat ? "flat" : "growing"} when it ${what}`, () => {
      expect(trendOf(samples(100, value), TOLERANCE).isFlat).to.equal(isFlat);
    });
  }

  it("may rise by the absolute tolerance however small it is", () => {
    const rising = samples(100, (at) => 1 + at * 0.1);
    expect(trendOf(rising, { share: 0.1, absolute: 8 }).isFlat).to.equal(true);
    expect(trendOf(rising, { share: 0.1, absolute: 7 }).isFlat).to.equal(false);
  });

  it("reports the slope per hour and the rise over the compared samples", () => {
    const { perHour, rise } = trendOf(
      samples(101, (at) => at),
      TOLERANCE,
    );
    expect(perHour).to.be.closeTo(360, 0.01);
    expect(rise).to.be.closeTo(75, 0.01);
  });

  it("is refused when there is too little of it", () => {
    expect(() =>
      trendOf(
        samples(2, () => 1),
        TOLERANCE,
      ),
    ).to.throw("too few samples");
  });
});

describe("a spread", () => {
  it("is the middle and the ends, in any order", () => {
    expect(spreadOf([3, 1, 2])).to.deep.equal({ median: 2, min: 1, max: 3 });
    expect(spreadOf([4, 1, 2, 3])).to.deep.equal({ median: 2.5, min: 1, max: 4 });
    expect(() => spreadOf([])).to.throw("nothing was measured");
  });
});

describe("a chart", () => {
  const panel = {
    title: "a < b & c",
    unit: "MB",
    lines: [{ name: "<x>", samples: samples(5, () => 7) }],
  };

  it("draws a line for each series, within its panel, and escapes names", () => {
    const svg = drawPanels("Soak", [panel, panel]);
    const lines = [...svg.matchAll(/<polyline[^>]* points="([^"]*)"/g)];
    expect(lines).to.have.length(2);
    const heights = lines.flatMap(([, points = ""]) =>
      points.split(" ").map((point) => Number(point.split(",")[1])),
    );
    const height = Number(/height="(\d+)"/.exec(svg)?.[1]);
    expect(Math.min(...heights)).to.be.above(0);
    expect(Math.max(...heights)).to.be.below(height);
    expect(svg).to.contain("a &lt; b &amp; c, MB").and.to.contain("&lt;x&gt;");
    expect(svg).to.not.contain("NaN");
  });

  it("of nothing is still a chart", () => {
    const empty = drawPanels("Soak", [
      { title: "t", unit: "u", lines: [{ name: "n", samples: [] }] },
    ]);
    expect(empty).to.contain("</svg>").and.to.not.contain("NaN").and.to.not.contain("Infinity");
  });
});

describe("the next rate of a search", () => {
  const held = (offered: number) => ({ offered, isHeld: true });
  const failed = (offered: number) => ({ offered, isHeld: false });

  for (const [what, runs, expected] of [
    ["the first one", [], 600],
    ["a tenth above what was held", [held(600)], 660],
    ["the same again after one failure", [held(600), failed(660)], 660],
    ["a tenth more when the second try held", [held(600), failed(660), held(660)], 726],
    ["none after two failures", [held(600), failed(660), failed(660)], undefined],
    ["half where nothing was held", [failed(600), failed(600)], 300],
    ["what failed before anything was held, once more", [failed(600), failed(600), held(550)], 605],
    [
      "tried twice there, too",
      [failed(600), failed(600), held(550), failed(605), failed(605)],
      undefined,
    ],
    ["none below the least", [failed(80), failed(80)], undefined],
  ] as const) {
    it(`is ${what}`, () => {
      expect(nextRate(runs)).to.equal(expected);
    });
  }
});
