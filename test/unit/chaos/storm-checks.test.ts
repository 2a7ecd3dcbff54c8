import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkLogs } from "../../chaos/check-logs.ts";
import { checkEnds, checkStrikes, countStrikes } from "../../chaos/check-storm.ts";
import { excuse } from "../../chaos/check-webhooks.ts";
import { checkYield } from "../../chaos/check-yield.ts";
import type { MessageRow } from "../../chaos/database-reader.ts";
import type { Fault, FaultKind } from "../../chaos/plan.ts";
import { type Done, moodSeed } from "../../chaos/storm.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PLAIN = "+2348030000001";
const SPECIAL = "+2348030009905";

/** So many messages that ended like this. */
function messages(count: number, status: string, change: Partial<MessageRow> = {}): MessageRow[] {
  const row = { tenant_id: "ten_1", mode: "live", to: PLAIN, segments: 1, held: 1n, history: [] };
  return Array.from({ length: count }, (_, at) => ({
    _id: `msg_${at}`,
    ...row,
    status,
    ...change,
  }));
}

const unknown = (count: number) =>
  messages(count, "failed", { error: { code: "submission_unknown" }, to: SPECIAL });

const whats = (breaches: readonly { what: string }[]) =>
  breaches.map(({ what }) => what).join("; ");

describe("the yield of a chaos run", () => {
  it("is enough where most is delivered", () => {
    const good = [...messages(900, "delivered"), ...unknown(112), ...messages(50, "expired")];
    const aside = [...messages(2000, "rejected"), ...messages(2000, "cancelled")];
    const tests = messages(2000, "failed", { mode: "test" });
    expect(checkYield([...good, ...aside, ...tests], 900)).to.deep.equal([]);
  });

  it("does not count the faults of test numbers", () => {
    const special = messages(300, "expired", { to: SPECIAL });
    expect(checkYield([...messages(10, "delivered"), ...special], 310)).to.deep.equal([]);
  });

  it("may be in doubt for a short run's hundred", () => {
    expect(checkYield([...messages(10, "delivered"), ...unknown(100)], 110)).to.deep.equal([]);
  });

  for (const [what, list, accepted, words] of [
    ["nothing is accepted", messages(5, "delivered"), 0, "no order was accepted"],
    ["nothing is delivered", messages(5, "undelivered"), 5, "no message was delivered"],
    ["there is no message", [], 5, "no message was delivered"],
    [
      "only test messages are delivered",
      messages(5, "delivered", { mode: "test" }),
      5,
      "no message was delivered",
    ],
    [
      "less than half is delivered",
      [...messages(49, "delivered"), ...messages(51, "expired")],
      100,
      "only 49 of 100 messages",
    ],
    [
      "more than a quarter is in doubt",
      [...messages(700, "delivered"), ...unknown(300)],
      1000,
      "300 of 1000 messages ended with submission_unknown",
    ],
  ] as const) {
    it(`is too little where ${what}`, () => {
      expect(whats(checkYield(list, accepted))).to.include(words);
    });
  }
});

const AT_MS = 1_000_000;
const NAME = "wallet-2";
const end = (name: string, atMs = AT_MS) => ({ name, atMs });

/** A fault of ten seconds that ended so long before the end of the process. */
function done(kind: FaultKind, target: string, agoMs = 1000, struck = true): Done {
  const fault: Fault = { kind, target, atMs: 0, forMs: 10_000, amountMs: 0 };
  return { fault, struck, fromMs: AT_MS - agoMs - 10_000, toMs: AT_MS - agoMs };
}

describe("a process that ends by itself in a chaos run", () => {
  for (const [what, crashes, faults] of [
    ["is a server", [end("mongod")], []],
    ["is a carrier", [end("smsc-simulator")], []],
    [
      "is the carrier service on a full disk",
      [end("carrier")],
      [done("disk_full", "carrier-journal")],
    ],
    [
      "was started while its database was killed",
      [end(NAME)],
      [done("kill", NAME), done("kill", "mongod", 20_000)],
    ],
    [
      "was started while its way to its database was cut",
      [end(NAME)],
      [done("restart", NAME), done("black_hole", `${NAME}>mongod`)],
    ],
    [
      "had ended before, and its database with it",
      [end(NAME, AT_MS - 5000), end("mongod", AT_MS - 8000), end(NAME)],
      [done("kill", NAME, 6000)],
    ],
  ] as const) {
    it(`may, where it ${what}`, () => {
      expect(checkEnds(crashes, faults)).to.deep.equal([]);
    });
  }

  for (const [what, faults] of [
    ["nothing was done to it", []],
    ["another's disk was full", [done("disk_full", "carrier-journal")]],
    ["its database was killed while it ran", [done("kill", "mongod")]],
    ["it was started while all its servers ran", [done("kill", NAME), done("kill", "redis")]],
    [
      "it was started while another's way was cut",
      [done("kill", NAME), done("cut", "wallet>mongod")],
    ],
    ["its start was long ago", [done("kill", NAME, 90_000), done("kill", "mongod")]],
  ] as const) {
    it(`must not, where ${what}`, () => {
      expect(whats(checkEnds([end(NAME)], faults))).to.include(`${NAME} ended by itself`);
    });
  }
});

describe("the faults of a chaos run", () => {
  const faults = [
    done("kill", "wallet"),
    done("kill", "redis", 0, false),
    done("pause", "redis", 0, false),
    done("disk_full", "mongod", 0, false),
  ];

  it("are counted by kind, with those that struck", () => {
    expect(countStrikes(faults)).to.deep.equal({
      disk_full: { planned: 1, struck: 0 },
      kill: { planned: 2, struck: 1 },
      pause: { planned: 1, struck: 0 },
    });
  });

  it("must strike at least once by kind in a long run, where the machine can do them", () => {
    expect(checkStrikes(faults, 2, [])).to.deep.equal([]);
    expect(whats(checkStrikes(faults, 10, ["disk_full"]))).to.equal(
      "none of 1 faults pause struck",
    );
    expect(checkStrikes(faults, 10, [])).to.have.length(2);
  });

  it("draw from numbers that the simulator takes, which differ and are the same again", () => {
    const [first, second] = [done("carrier", "low rate").fault, { ...faults[0]?.fault, atMs: 7 }];
    const seeds = [first, second as Fault].map((fault) => moodSeed(4_294_967_295, fault));
    expect(seeds).to.deep.equal([4_294_967_295, 6]);
  });
});

describe("deliveries that were given up", () => {
  const some = (count: number) => new Set(Array.from({ length: count }, (_, at) => `msg_${at}`));

  for (const [count, deliveries, isOverloaded, excused] of [
    [0, 200_000, true, 0],
    [10, 11_000, false, 10],
    [12, 11_000, false, 0],
    [200, 200_000, false, 200],
    [201, 200_000, false, 0],
    [201, 200_000, true, 201],
  ] as const) {
    const machine = isOverloaded ? "an overloaded machine" : "a machine with time";
    it(`are excused ${excused} of ${count} among ${deliveries} on ${machine}`, () => {
      const found = excuse(some(count), deliveries, isOverloaded);
      expect(found.excused.size).to.equal(excused);
      expect(found.notes).to.have.length(excused === 0 ? 0 : 1);
    });
  }
});

describe("the logs of a chaos run", () => {
  const dir = temporaryFolder("chaos-logs");
  before(() => writeFileSync(join(dir, "gateway.log"), "begun\n"));

  async function check(text: string): Promise<string> {
    writeFileSync(join(dir, "wallet.log"), text);
    const wanted = { forbidden: [], recipients: [PLAIN], writers: ["wallet", "gateway"] };
    return whats((await checkLogs(dir, wanted)).breaches);
  }

  it("must have lines", async () => {
    expect(await check("")).to.equal("no line in wallet.log");
    expect(await check("begun\n")).to.equal("");
  });

  for (const text of [
    "sent to 2348030000001.",
    "to:+2348030000001.",
    "call 08030000001, twice",
    "-08030000001",
    "/send?to=%2B2348030000001&from=me",
    "recipient_2348030000001",
  ]) {
    it(`must not name a recipient: ${text}`, async () => {
      expect(await check(`begun\n${text}\n`)).to.include("a recipient in wallet.log");
    });
  }

  it("may hold other digits", async () => {
    const text = "took 0.08030000001 s; a2348030000001; 102348030000001; 2348030000002345";
    expect(await check(`${text}\n`)).to.equal("");
  });
});
