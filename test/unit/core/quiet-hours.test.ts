import { expect } from "chai";
import type { AppError } from "../../../services/shared/core/errors.ts";
import {
  checkQuietRule,
  compileQuietRule,
  type QuietRule,
} from "../../../services/shared/core/quiet-hours.ts";
import {
  DEFAULT_QUIET_HOURS,
  formatQuietWindows,
  parseQuietRules,
  parseQuietWindows,
} from "../../../services/shared/core/quiet-hours-text.ts";

const MINUTE_MS = 60_000;

function rule(timeZone: string, windows: string): QuietRule {
  return {
    country: "NG",
    trafficClass: "promotional",
    timeZone,
    windows: parseQuietWindows(windows),
  };
}

/** The period of an instant as text: `quiet 2026-11-27T19:00Z 2026-11-28T07:00Z`. */
function periodAt(timeZone: string, windows: string, at: string): string {
  const period = compileQuietRule(rule(timeZone, windows))(Date.parse(at));
  const text = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}Z`;
  return `${period.isQuiet ? "quiet" : "open"} ${text(period.fromMs)} ${text(period.untilMs)}`;
}

describe("the period of quiet hours that contains an instant", () => {
  const table: readonly (readonly [string, string, string, string, string])[] = [
    // Lagos has no daylight saving time: UTC+1 all year.
    ...([
      [
        "in the evening",
        "Africa/Lagos",
        "20:00-08:00",
        "2026-11-27T21:00Z",
        "quiet 2026-11-27T19:00Z 2026-11-28T07:00Z",
      ],
      [
        "after midnight",
        "Africa/Lagos",
        "20:00-08:00",
        "2026-11-28T03:00Z",
        "quiet 2026-11-27T19:00Z 2026-11-28T07:00Z",
      ],
      [
        "by day",
        "Africa/Lagos",
        "20:00-08:00",
        "2026-11-27T12:00Z",
        "open 2026-11-27T07:00Z 2026-11-27T19:00Z",
      ],
      [
        "at the beginning",
        "Africa/Lagos",
        "20:00-08:00",
        "2026-11-27T19:00Z",
        "quiet 2026-11-27T19:00Z 2026-11-28T07:00Z",
      ],
      [
        "at the end, which is open",
        "Africa/Lagos",
        "20:00-08:00",
        "2026-11-28T07:00Z",
        "open 2026-11-28T07:00Z 2026-11-28T19:00Z",
      ],
      [
        "in a window until midnight",
        "Africa/Lagos",
        "20:00-24:00",
        "2026-11-27T22:59Z",
        "quiet 2026-11-27T19:00Z 2026-11-27T23:00Z",
      ],
      [
        "in windows that touch",
        "Africa/Lagos",
        "20:00-24:00,00:00-08:00",
        "2026-11-27T22:00Z",
        "quiet 2026-11-27T19:00Z 2026-11-28T07:00Z",
      ],
      [
        "between two windows",
        "Africa/Lagos",
        "20:00-08:00,13:00-15:00",
        "2026-11-27T10:00Z",
        "open 2026-11-27T07:00Z 2026-11-27T12:00Z",
      ],
      [
        "in the second window",
        "Africa/Lagos",
        "20:00-08:00,13:00-15:00",
        "2026-11-27T12:30Z",
        "quiet 2026-11-27T12:00Z 2026-11-27T14:00Z",
      ],
    ] as const),
    // Berlin: on 2027-03-28 02:00 becomes 03:00 (01:00Z); on 2026-10-25 03:00 becomes 02:00 (01:00Z).
    ...([
      [
        "in the short night",
        "Europe/Berlin",
        "20:00-08:00",
        "2027-03-28T00:30Z",
        "quiet 2027-03-27T19:00Z 2027-03-28T06:00Z",
      ],
      [
        "in the long night",
        "Europe/Berlin",
        "20:00-08:00",
        "2026-10-25T00:30Z",
        "quiet 2026-10-24T18:00Z 2026-10-25T07:00Z",
      ],
      [
        "that begins in the gap",
        "Europe/Berlin",
        "02:30-06:00",
        "2027-03-28T02:00Z",
        "quiet 2027-03-28T01:00Z 2027-03-28T04:00Z",
      ],
      [
        "that ends in the gap",
        "Europe/Berlin",
        "22:00-02:30",
        "2027-03-28T00:30Z",
        "quiet 2027-03-27T21:00Z 2027-03-28T01:00Z",
      ],
      [
        "when the window is in the gap as a whole",
        "Europe/Berlin",
        "02:15-02:45",
        "2027-03-28T06:00Z",
        "open 2027-03-27T01:45Z 2027-03-29T00:15Z",
      ],
      [
        "that ends in the overlap, the first time",
        "Europe/Berlin",
        "22:00-02:30",
        "2026-10-25T00:15Z",
        "quiet 2026-10-24T20:00Z 2026-10-25T00:30Z",
      ],
      [
        "that ends in the overlap, between",
        "Europe/Berlin",
        "22:00-02:30",
        "2026-10-25T00:45Z",
        "open 2026-10-25T00:30Z 2026-10-25T01:00Z",
      ],
      [
        "that ends in the overlap, the second time",
        "Europe/Berlin",
        "22:00-02:30",
        "2026-10-25T01:15Z",
        "quiet 2026-10-25T01:00Z 2026-10-25T01:30Z",
      ],
      [
        "that begins in the overlap, the first time",
        "Europe/Berlin",
        "02:30-06:00",
        "2026-10-25T00:45Z",
        "quiet 2026-10-25T00:30Z 2026-10-25T01:00Z",
      ],
      [
        "that begins in the overlap, the second time",
        "Europe/Berlin",
        "02:30-06:00",
        "2026-10-25T03:00Z",
        "quiet 2026-10-25T01:30Z 2026-10-25T05:00Z",
      ],
    ] as const),
    // New York: on 2027-03-14 02:00 becomes 03:00 (07:00Z); on 2026-11-01 02:00 becomes 01:00 (06:00Z).
    ...([
      [
        "in the short night",
        "America/New_York",
        "21:00-08:00",
        "2027-03-14T08:00Z",
        "quiet 2027-03-14T02:00Z 2027-03-14T12:00Z",
      ],
      [
        "in the long night",
        "America/New_York",
        "21:00-08:00",
        "2026-11-01T08:00Z",
        "quiet 2026-11-01T01:00Z 2026-11-01T13:00Z",
      ],
      [
        "that begins in the gap",
        "America/New_York",
        "02:30-09:00",
        "2027-03-14T09:00Z",
        "quiet 2027-03-14T07:00Z 2027-03-14T13:00Z",
      ],
    ] as const),
    // Lord Howe moves by half an hour: on 2026-10-04 02:00 becomes 02:30 (15:30Z of the 3rd); on 2027-04-04 02:00
    // becomes 01:30 (15:00Z of the 3rd).
    ...([
      [
        "in the short night",
        "Australia/Lord_Howe",
        "20:00-08:00",
        "2026-10-03T15:00Z",
        "quiet 2026-10-03T09:30Z 2026-10-03T21:00Z",
      ],
      [
        "in the long night",
        "Australia/Lord_Howe",
        "20:00-08:00",
        "2027-04-03T15:00Z",
        "quiet 2027-04-03T09:00Z 2027-04-03T21:30Z",
      ],
      [
        "that begins in the gap",
        "Australia/Lord_Howe",
        "02:15-08:00",
        "2026-10-03T16:00Z",
        "quiet 2026-10-03T15:30Z 2026-10-03T21:00Z",
      ],
    ] as const),
  ];
  for (const [what, timeZone, windows, at, expected] of table) {
    it(`${what}: ${timeZone} ${windows} at ${at}`, () => {
      expect(periodAt(timeZone, windows, at)).to.equal(expected);
    });
  }

  it("agrees with the wall clock at every ten minutes of a year in zones that change their clocks", () => {
    const windows = "21:40-01:50,02:20-06:30";
    for (const timeZone of ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]) {
      const wallClock = new Intl.DateTimeFormat("en-GB", {
        ...{ timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
      });
      const periodOf = compileQuietRule(rule(timeZone, windows));
      const beginMs = Date.parse("2026-03-01T00:00Z");
      for (let step = 0; step < 365 * 144; step += 1) {
        const atMs = beginMs + step * 10 * MINUTE_MS;
        const time = wallClock.format(atMs);
        const isQuiet = time >= "21:40" || time < "01:50" || (time >= "02:20" && time < "06:30");
        const period = periodOf(atMs);
        if (period.isQuiet !== isQuiet) expect.fail(`${timeZone} ${new Date(atMs).toISOString()}`);
        if (periodOf(period.untilMs).isQuiet === isQuiet) expect.fail(`${timeZone} ends too soon`);
      }
    }
  }).timeout(30_000);
});

describe("the check of quiet hours", () => {
  const NIGHT = rule("Africa/Lagos", "20:00-08:00");
  const refused: readonly (readonly [string, Partial<QuietRule>, string])[] = [
    ["a window of a whole day", { windows: parseQuietWindows("08:00-08:00") }, "windows[0]"],
    [
      "a window from midnight to midnight",
      { windows: parseQuietWindows("00:00-24:00") },
      "windows[0]",
    ],
    [
      "windows that leave no open minute",
      { windows: parseQuietWindows("20:00-08:00,08:00-14:00,13:00-20:00") },
      "windows",
    ],
    ["no window", { windows: [] }, "windows"],
    [
      "nine windows",
      { windows: parseQuietWindows(Array(9).fill("01:00-02:00").join()) },
      "windows",
    ],
    ["minutes beyond the day", { windows: [{ fromMinute: 1, untilMinute: 1441 }] }, "windows[0]"],
    ["half a minute", { windows: [{ fromMinute: 0.5, untilMinute: 10 }] }, "windows[0]"],
    ["an unknown time zone", { timeZone: "Africa/Atlantis" }, "time_zone"],
    ["an offset for a time zone", { timeZone: "+01:00" }, "time_zone"],
    ["a country in words", { country: "Nigeria" }, "country"],
    ["an unknown class", { trafficClass: "loud" as "otp" }, "traffic_class"],
  ];
  for (const [what, change, field] of refused) {
    it(`refuses ${what}`, () => {
      try {
        checkQuietRule({ ...NIGHT, ...change });
      } catch (error) {
        expect((error as AppError).fields.map((one) => one.field)).to.deep.equal([field]);
        return;
      }
      expect.fail("nothing was refused");
    });
  }

  it("accepts windows that leave one open minute", () => {
    checkQuietRule({ ...NIGHT, windows: parseQuietWindows("08:01-08:00") });
  });
});

describe("quiet hours as text", () => {
  it("reads the default: Nigeria, promotional, from 20:00 to 08:00 in Lagos", () => {
    expect(parseQuietRules(DEFAULT_QUIET_HOURS)).to.deep.equal([
      {
        country: "NG",
        trafficClass: "promotional",
        timeZone: "Africa/Lagos",
        windows: [{ fromMinute: 1200, untilMinute: 480 }],
      },
    ]);
  });

  it("reads several rules and windows, and none", () => {
    const rules = parseQuietRules(
      "NG promotional Africa/Lagos 20:00-08:00; DE promotional Europe/Berlin 21:00-09:00, 13:00-15:00",
    );
    expect(
      rules.map(({ country, windows }) => [country, formatQuietWindows(windows)]),
    ).to.deep.equal([
      ["NG", "20:00-08:00"],
      ["DE", "21:00-09:00,13:00-15:00"],
    ]);
    expect(parseQuietRules("none")).to.deep.equal([]);
  });

  for (const text of [
    "NG promotional Africa/Lagos 00:00-24:00",
    "NG",
    "20:00-08:00",
    "NG promotional UTC 8-9",
  ]) {
    it(`refuses ${text}`, () => {
      expect(() => parseQuietRules(text)).to.throw();
    });
  }
});
