import { expect } from "chai";
import { CARRIER_MOODS, DISKS, type FaultKind, makePlan } from "../../chaos/plan.ts";
import { LINKS, PROCESSES, processTable, SERVERS } from "../../chaos/topology.ts";

const SEEDS = [1, 2, 7, 4_294_967_295];
/** Enough of half an hour each for every link to be struck in every way. */
const MANY_SEEDS = Array.from({ length: 24 }, (_, at) => at + 1);
const SERVICES = PROCESSES.map(({ name }) => name);
const LINK_NAMES = LINKS.map(({ name }) => name);

/** The targets of each kind of fault, and its longest duration. */
const KINDS: Readonly<Record<FaultKind, { targets: readonly string[]; longestMs: number }>> = {
  kill: { targets: [...SERVICES, ...SERVERS], longestMs: 4000 },
  pause: { targets: [...SERVICES, ...SERVERS, "smsc-simulator"], longestMs: 20_000 },
  restart: { targets: [...SERVERS, ...SERVICES], longestMs: 1500 },
  flush: { targets: ["redis"], longestMs: 0 },
  cut: { targets: LINK_NAMES, longestMs: 6000 },
  slow: { targets: LINK_NAMES, longestMs: 8000 },
  black_hole: { targets: LINK_NAMES, longestMs: 12_000 },
  carrier: { targets: Object.keys(CARRIER_MOODS), longestMs: 10_000 },
  disk_full: { targets: DISKS, longestMs: 5000 },
  clock: { targets: SERVICES, longestMs: 10_000 },
};

describe("the plan of a chaos run", () => {
  for (const seed of SEEDS) {
    it(`is the same for the same seed and length (${seed})`, () => {
      expect(makePlan(seed, 3)).to.deep.equal(makePlan(seed, 3));
    });
  }

  it("differs from seed to seed", () => {
    const plans = SEEDS.map((seed) => JSON.stringify(makePlan(seed, 1)));
    expect(new Set(plans).size).to.equal(SEEDS.length);
  });

  for (const [kind, { targets, longestMs }] of Object.entries(KINDS)) {
    it(`strikes every target of ${kind} in some half hours, and nothing else`, () => {
      const faults = MANY_SEEDS.flatMap((seed) => makePlan(seed, 30)).filter(
        (fault) => fault.kind === kind,
      );
      const struck = new Set(faults.map(({ target }) => target));
      expect([...struck].filter((target) => !targets.includes(target))).to.deep.equal([]);
      expect(struck.size).to.equal(targets.length);
      for (const { forMs } of faults) expect(forMs).to.be.within(0, longestMs);
    });
  }

  it("has every kind of fault within two minutes", () => {
    for (const seed of SEEDS) {
      const kinds = new Set(makePlan(seed, 2).map(({ kind }) => kind));
      expect([...kinds].sort()).to.deep.equal(Object.keys(KINDS).sort());
    }
  });

  it("has only whole milliseconds and ends with the run, so that all is mended then", () => {
    for (const { atMs, forMs, amountMs } of makePlan(5, 2)) {
      for (const value of [atMs, forMs, amountMs]) expect(Number.isInteger(value)).to.equal(true);
      expect(atMs + forMs).to.be.at.most(2 * 60_000);
    }
  });

  it("never does two things to one target at once", () => {
    for (const seed of SEEDS) {
      const busyUntil = new Map<string, number>();
      for (const { kind, target, atMs, forMs } of makePlan(seed, 30)) {
        const place = kind === "carrier" ? "carrier" : target;
        expect(atMs, place).to.be.at.least(busyUntil.get(place) ?? 0);
        busyUntil.set(place, atMs + forMs);
      }
    }
  });

  it("leaves healthy webhook servers reachable for longer than their retries last", () => {
    const away = SEEDS.flatMap((seed) => makePlan(seed, 30)).filter(({ target }) =>
      target.endsWith(">receivers"),
    );
    expect(away.length).to.be.greaterThan(0);
    for (const { forMs } of away) expect(forMs).to.be.at.most(5000);
  });
});

describe("the links of a chaos run", () => {
  it("are the only way from a process to any other", () => {
    const ports = new Map(LINKS.map(({ name }, at) => [name, 20_000 + at]));
    const table = processTable(
      (name) => ports.get(name) ?? 0,
      () => ({}),
    );
    const gateway = table.find(({ name }) => name === "gateway");
    const two = ["gateway>wallet", "gateway>wallet-2"].map(
      (name) => `127.0.0.1:${ports.get(name)}`,
    );
    expect(gateway?.settings?.WALLET_GRPC).to.equal(two.join(","));
    const messaging = table.find(({ name }) => name === "messaging-2");
    const mongo = `mongodb://127.0.0.1:${ports.get("messaging-2>mongod")}/?replicaSet=sms`;
    expect(messaging?.settings?.MONGODB_URI).to.equal(mongo);
    for (const { settings } of table) expect(JSON.stringify(settings)).not.to.include(":0");
  });
});
