import { expect } from "chai";
import { TrafficClass } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { errorOf, type Fakes, getTenant, run } from "../../support/smsctl-fakes.ts";

const NIGERIA = {
  country: "NG",
  trafficClass: TrafficClass.PROMOTIONAL,
  timeZone: "Africa/Lagos",
  windows: [{ fromMinute: 1200, untilMinute: 480 }],
};
const SHOWN = {
  country: "NG",
  traffic_class: "promotional",
  time_zone: "Africa/Lagos",
  hours: "20:00-08:00",
};

describe("smsctl quiet-hours", () => {
  const set = (words: readonly string[], fakes: Fakes) =>
    run(["quiet-hours", "set", ...words], fakes);

  it("list shows the rules, and how many messages wait for their end", async () => {
    const { result } = await run(["quiet-hours", "list"], {
      routing: { listQuietHours: () => ({ quietHours: [NIGERIA] }) },
      messaging: { getQueueStats: () => ({ quiet: 12n }) },
    });
    expect(result).to.deep.equal([SHOWN]);
  });

  it("set sends windows, zone and class", async () => {
    const asked: unknown[] = [];
    const routing: Fakes["routing"] = {
      setQuietHours({ quietHours }) {
        const { country, trafficClass, timeZone, windows = [] } = quietHours ?? {};
        const minutes = windows.map(({ fromMinute, untilMinute }) => [fromMinute, untilMinute]);
        asked.push([country, trafficClass, timeZone, minutes]);
        return { quietHours: NIGERIA };
      },
    };
    const hours = ["--zone", "Africa/Lagos", "--hours", "20:00-08:00,13:00-15:00"];
    const { result } = await set(["ng", ...hours], { routing });
    await set(["NG", ...hours, "--class", "otp"], { routing });
    expect(result).to.deep.equal(SHOWN);
    const minutes = [
      [1200, 480],
      [780, 900],
    ];
    expect(asked).to.deep.equal([
      ["NG", TrafficClass.PROMOTIONAL, "Africa/Lagos", minutes],
      ["NG", TrafficClass.OTP, "Africa/Lagos", minutes],
    ]);
  });

  for (const words of [
    ["NG", "--zone", "Africa/Lagos", "--hours", "8-20"],
    ["NG", "--zone", "Africa/Lagos", "--hours", "20:00-08:00", "--class", "loud"],
  ]) {
    it(`refuses ${words.join(" ")}`, async () => {
      expect(await errorOf(set(words, {}))).to.include({ code: "validation_error" });
    });
  }

  it("remove names the country and class", async () => {
    const routing: Fakes["routing"] = {
      removeQuietHours: ({ country }) => ({ quietHours: { ...NIGERIA, country } }),
    };
    const words = ["quiet-hours", "remove", "NG"];
    const { result } = await run(words, { routing });
    expect(result).to.deep.equal({ ...SHOWN, removed: true });
  });

  for (const [policy, expected] of [
    ["reject", true],
    ["hold", false],
  ] as const) {
    it(`tenant update --quiet-hours ${policy}`, async () => {
      let asked: unknown;
      const tenants: Fakes["tenants"] = {
        getTenant,
        updateTenant(request) {
          asked = request.rejectsInQuietHours;
          return { tenant: { id: request.tenantId } };
        },
      };
      const words = ["tenant", "update", "Ada", "--quiet-hours", policy];
      await run(words, { tenants });
      expect(asked).to.equal(expected);
    });
  }

  it("tenant update refuses another policy", async () => {
    const words = ["tenant", "update", "Ada", "--quiet-hours", "maybe"];
    const failed = errorOf(run(words, { tenants: { getTenant } }));
    expect(await failed).to.include({ code: "validation_error" });
  });
});
