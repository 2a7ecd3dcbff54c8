/** The series of the console's charts, and its sentences about endpoints. */
import { expect } from "chai";
import type { Delivery } from "../../../console/api/types.ts";
import { describeHealth, endpointHealth } from "../../../console/core/endpoint-health.ts";
import { fromUnits } from "../../../console/core/money.ts";
import {
  lastDays,
  lastHours,
  seriesOf,
  shareText,
  sumOf,
} from "../../../console/core/usage-series.ts";

describe("the series of a chart", () => {
  const group = (day: string, status: string, messages: number, amount: string) => ({
    ...{ day, status, messages, segments: messages, amount },
  });

  it("has a point for each day, also without a message, and leaves others out", () => {
    const points = seriesOf(
      ["2026-11-01", "2026-11-02"],
      [
        group("2026-10-31", "delivered", 9, "9.0000"),
        group("2026-11-02", "delivered", 3, "3.0001"),
        group("2026-11-02", "failed", 1, "0.0000"),
        group("2026-11-02", "sent", 2, "2.0000"),
      ],
    );
    const none = { messages: 0, delivered: 0, ended: 0, units: 0n };
    expect(points).to.deep.equal([
      { key: "2026-11-01", ...none },
      { key: "2026-11-02", messages: 6, delivered: 3, ended: 4, units: 50_001n },
    ]);
    expect(sumOf(points)).to.deep.equal({ messages: 6, delivered: 3, ended: 4, units: 50_001n });
  });

  it("of 24 hours ends with the present one, in zones of other minutes too", () => {
    const now = Date.parse("2026-11-27T15:10:00Z");
    const hours = lastHours(now);
    expect(hours).to.have.length(24);
    expect([hours[0], hours[23]]).to.deep.equal([
      ...["2026-11-26T16:00:00.000Z", "2026-11-27T15:00:00.000Z"],
    ]);
    // 15:10 UTC is 20:55 in Kathmandu, whose present hour began at 14:15 UTC.
    expect(lastHours(now, 900_000).at(-1)).to.equal("2026-11-27T14:15:00.000Z");
  });

  it("of days ends with today", () => {
    expect(lastDays(3, new Date(2026, 2, 1, 23, 59))).to.deep.equal([
      ...["2026-02-27", "2026-02-28", "2026-03-01"],
    ]);
    expect(new Set(lastDays(30, new Date(2026, 9, 31))).size).to.equal(30);
  });

  for (const [delivered, ended, text] of [
    [0, 0, "–"],
    [0, 5, "0 %"],
    [5, 5, "100 %"],
    [999, 1000, "99.9 %"],
    [99_999, 100_000, "99.9 %"],
    [2, 3, "67 %"],
  ] as const) {
    it(`${delivered} of ${ended} delivered is ${text}`, () => {
      expect(shareText({ delivered, ended })).to.equal(text);
    });
  }

  for (const amount of ["0.0000", "12.5000", "-0.0001", "9007199254740993.0001"]) {
    it(`${amount} comes back from units as it was`, () => {
      const units = BigInt(amount.replace(".", ""));
      expect(fromUnits(units)).to.equal(amount);
    });
  }
});

describe("the health of an endpoint", () => {
  const attempt = { number: 1, started_at: "", duration_ms: 1, answer: null };
  const delivery = (created_at: string, http_status: number | null, error: string | null) =>
    ({ created_at, attempts: [{ ...attempt, http_status, error }] }) as unknown as Delivery;
  const sinceMs = Date.parse("2026-11-26T12:00:00Z");

  it("counts the failures of the last day, and gives the newest one's reason", () => {
    const failed = [
      delivery("2026-11-26T13:00:00Z", 500, null),
      delivery("2026-11-25T13:00:00Z", 404, null),
    ];
    const pending = [
      delivery("2026-11-27T10:00:00Z", null, "time_out"),
      { created_at: "2026-11-27T11:00:00Z", attempts: [] } as unknown as Delivery,
    ];
    const health = endpointHealth(failed, pending, sinceMs);
    expect(health).to.deep.equal({ failed: 1, retried: 1, reason: "time out" });
    expect(describeHealth(health)).to.equal(
      "deliveries of the last day: 1 failed, 1 not taken yet. The last answer was: time out",
    );
  });

  it("has no sentence without a failure", () => {
    expect(describeHealth(endpointHealth([], [], sinceMs))).to.equal(undefined);
  });
});
