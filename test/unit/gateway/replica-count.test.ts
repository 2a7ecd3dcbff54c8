import { expect } from "chai";
import {
  type CountAddresses,
  replicasOf,
  watchReplicas,
} from "../../../gateway/rate-limit/replica-count.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { eventually } from "../../support/poll.ts";

const log = createLogger("test", "silent");
const MINUTE_MS = 60_000;

describe("the number of gateways", () => {
  it("is the last DNS count of the past minute, else the configured number", () => {
    for (const [seen, nowMs, expected] of [
      [undefined, 0, 3],
      [{ count: 7, atMs: 0 }, 0, 7],
      [{ count: 7, atMs: 0 }, MINUTE_MS - 1, 7],
      [{ count: 7, atMs: 0 }, MINUTE_MS, 3],
      [{ count: 1, atMs: 0 }, 1, 1],
      [{ count: 0, atMs: 0 }, 1, 3],
    ] as const) {
      expect(replicasOf(seen, 3, nowMs), JSON.stringify(seen)).to.equal(expected);
    }
  });

  it("follows DNS, also through failed queries", async () => {
    let answer: number | Error = 2;
    const asked: string[] = [];
    const countAddresses: CountAddresses = async (host) => {
      asked.push(host);
      if (typeof answer !== "number") throw answer;
      return answer;
    };
    const peers = "gateway-headless.sms.svc";
    const replicas = watchReplicas({ peers, fallback: 3, log, countAddresses, intervalMs: 1 });
    expect(replicas.count()).to.equal(3);
    await eventually(() => replicas.count() === 2);
    answer = new Error("SERVFAIL");
    const failedAfter = asked.length;
    await eventually(() => asked.length > failedAfter);
    expect(replicas.count()).to.equal(2);
    answer = 5;
    await eventually(() => replicas.count() === 5);
    await replicas.close();
    const before = asked.length;
    expect(new Set(asked)).to.deep.equal(new Set([peers]));
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked.length).to.equal(before);
  });

  it("makes one query at a time, and cancels it on close", async () => {
    let asked = 0;
    const countAddresses: CountAddresses = (_host, signal) => {
      asked += 1;
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("cancelled")), { once: true });
      });
    };
    const replicas = watchReplicas({ peers: "x", fallback: 4, log, countAddresses, intervalMs: 1 });
    await eventually(() => asked === 1);
    // Long enough for many queries at this interval.
    await new Promise((resolve) => setTimeout(resolve, 30));
    await replicas.close();
    expect([asked, replicas.count()]).to.deep.equal([1, 4]);
  });

  it("makes no query without a name", async () => {
    const countAddresses: CountAddresses = () => Promise.reject(new Error("asked"));
    const replicas = watchReplicas({ peers: "", fallback: 4, log, countAddresses });
    expect(replicas.count()).to.equal(4);
    await replicas.close();
  });
});
