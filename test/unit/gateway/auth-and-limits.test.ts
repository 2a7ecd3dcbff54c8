import { hash } from "node:crypto";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { expect } from "chai";
import fc from "fast-check";
import { createAuthenticator } from "../../../gateway/auth/authenticate.ts";
import { callerAddress, compileNetworks } from "../../../gateway/auth/caller-address.ts";
import { createCallerCache, type LoadCaller } from "../../../gateway/auth/caller-cache.ts";
import { createKeyLoader } from "../../../gateway/auth/key-loader.ts";
import { createLoadLimiter } from "../../../gateway/load-shedding/load-limiter.ts";
import { requestCost } from "../../../gateway/rate-limit/request-cost.ts";
import {
  type Bucket,
  describeLevel,
  takeTokens,
} from "../../../gateway/rate-limit/token-bucket.ts";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import type { AppError } from "../../../services/shared/core/errors.ts";
import { eventually } from "../../support/poll.ts";

describe("the caller's address", () => {
  const proxies = compileNetworks(["10.0.0.0/8", "fd00::/8", "192.0.2.1"]);
  for (const [peer, forwarded, wanted] of [
    ["203.0.113.9", undefined, "203.0.113.9"],
    ["203.0.113.9", "198.51.100.1", "203.0.113.9"],
    ["10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["10.0.0.1", "1.1.1.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"],
    ["10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
    ["10.0.0.1", "[2001:db8::1]:443", "2001:db8::1"],
    ["fd00::1", "2001:db8::2", "2001:db8::2"],
    ["10.0.0.1", "nonsense", "10.0.0.1"],
    ["10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"],
    ["10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"],
    ["10.0.0.1", "", "10.0.0.1"],
  ] as const) {
    it(`is ${wanted} for peer ${peer} with X-Forwarded-For ${forwarded}`, () => {
      expect(callerAddress(peer, forwarded, proxies)).to.equal(wanted);
    });
  }

  for (const [networks, address, isIn] of [
    [["203.0.113.0/24"], "203.0.113.200", true],
    [["203.0.113.0/24"], "::ffff:203.0.113.200", true],
    [["203.0.113.0/24"], "203.0.114.1", false],
    [["::ffff:203.0.113.0/120"], "203.0.113.7", true],
    [["2001:db8::/32"], "2001:db8:1::1", true],
    [["2001:db8::/32"], "2001:db9::1", false],
    [["203.0.113.7"], "203.0.113.7", true],
    [["0.0.0.0/0"], "2001:db8::1", false],
    [["::/0"], "203.0.113.7", false],
    [["203.0.113.0/24"], "", false],
  ] as const) {
    it(`${address} is ${isIn ? "" : "not "}in ${networks}`, () => {
      expect(compileNetworks(networks)(address)).to.equal(isIn);
    });
  }
});

describe("the token bucket", () => {
  const ONE = { rate: 1, burst: 1, cost: 1 };

  it("never grants more than a full bucket plus the refill", () => {
    const steps = fc.array(fc.nat({ max: 500_000 }), { maxLength: 200 });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 40 }),
        steps,
        (rate, burst, cost, waits) => {
          let bucket: Bucket | undefined;
          let granted = 0;
          let nowUs = 1_000_000;
          const startUs = nowUs;
          for (const waitUs of waits) {
            nowUs += waitUs;
            const taken = takeTokens(bucket, { rate, burst, cost }, nowUs);
            bucket = taken.bucket;
            if (taken.isAllowed) granted += cost;
            const most = burst + Math.floor(((nowUs - startUs) * rate) / 1e6);
            expect(granted).to.be.at.most(most);
          }
        },
      ),
    );
  });

  it("a clock that is set back grants nothing, and the refill continues from there", () => {
    const { bucket } = takeTokens(undefined, ONE, 10_000_000);
    const back = takeTokens(bucket, ONE, 5_000_000);
    expect(back.isAllowed).to.equal(false);
    expect(takeTokens(back.bucket, ONE, 5_999_999).isAllowed).to.equal(false);
    expect(takeTokens(back.bucket, ONE, 6_000_000).isAllowed).to.equal(true);
  });

  for (const [level, rate, burst, cost, isAllowed, wanted] of [
    [100e6, 50, 100, 1, true, { remaining: 100, resetS: 0, retryAfterMs: 0 }],
    [99e6, 50, 100, 1, true, { remaining: 99, resetS: 1, retryAfterMs: 0 }],
    [0, 50, 100, 1, false, { remaining: 0, resetS: 2, retryAfterMs: 20 }],
    [999_999, 1, 1, 1, false, { remaining: 0, resetS: 1, retryAfterMs: 1 }],
    [0, 1, 10, 1, false, { remaining: 0, resetS: 10, retryAfterMs: 1000 }],
    [2e6, 1, 10, 8, false, { remaining: 2, resetS: 8, retryAfterMs: 6000 }],
  ] as const) {
    it(`level ${level} at ${rate}/s of ${burst} for a request of ${cost} shows ${JSON.stringify(wanted)}`, () => {
      expect(describeLevel(level, { rate, burst, cost }, isAllowed)).to.deep.equal({
        isAllowed,
        ...wanted,
      });
    });
  }
});

describe("the cost of a request", () => {
  for (const [bytes, burst, cost] of [
    [0, 100, 1],
    [1, 100, 1],
    [131_072, 100, 1],
    [131_073, 100, 2],
    [4_194_304, 100, 32],
    [4_194_304, 10, 10],
    [4_194_304, 1, 1],
  ] as const) {
    it(`is ${cost} for ${bytes} bytes with a burst of ${burst}`, () => {
      expect(requestCost(bytes, burst)).to.equal(cost);
    });
  }
});

describe("the authenticator", () => {
  const secret = `sk_live_${"a".repeat(43)}`;
  const header = `Bearer ${secret}`;
  const good = {
    key: { id: "key_1", mode: 1, scopes: ["balance:read"], allowedNetworks: [] },
    tenant: { id: "ten_1", rateLimit: 1, burst: 1, bulkMax: 1, currency: "NGN" },
  };
  /** A tenant service that gives the same response for every key. */
  function tenantsThat(answer: () => Promise<unknown>) {
    const calls: Buffer[][] = [];
    const client = {
      authenticateMany: async ({ requests }: { requests: { secretSha256: Buffer }[] }) => {
        calls.push(requests.map(({ secretSha256 }) => secretSha256));
        const one = await answer();
        return { answers: requests.map(() => one) };
      },
    };
    const load = createKeyLoader(client as unknown as Client<typeof TenantService>);
    return { load, calls };
  }
  /** Authenticates by keys alone. */
  function authenticatorOf(load: LoadCaller) {
    const keys = createCallerCache(load, 60_000);
    const sessions = { find: () => undefined };
    const { authenticate } = createAuthenticator({ keys, sessions, ownOrigin: "" });
    return {
      authenticate: (authorization: string | undefined) =>
        authenticate({
          method: "GET",
          headers: authorization === undefined ? {} : { authorization },
          authorization,
        }),
      forgetKey: keys.forget,
      forgetTenant: keys.forgetTenant,
    };
  }
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => "none",
      (error: AppError) => error.code,
    );

  it("loads a key once for many concurrent requests, by the hash of the secret only", async () => {
    const { load, calls } = tenantsThat(async () => good);
    const authenticator = authenticatorOf(load);
    await Promise.all(Array.from({ length: 50 }, () => authenticator.authenticate(header)));
    expect(calls).to.deep.equal([[hash("sha256", secret, "buffer")]]);
  });

  it("loads different keys of one tick in one call", async () => {
    const { load, calls } = tenantsThat(async () => good);
    const authenticator = authenticatorOf(load);
    const headers = [..."abc"].map((letter) => `Bearer sk_live_${letter.repeat(43)}`);
    await Promise.all(headers.map((one) => authenticator.authenticate(one)));
    expect(calls.map((keys) => keys.length)).to.deep.equal([3]);
  });

  it("loads a key again after its key or tenant is invalidated", async () => {
    const { load, calls } = tenantsThat(async () => good);
    const authenticator = authenticatorOf(load);
    await authenticator.authenticate(header);
    authenticator.forgetKey(hash("sha256", secret, "hex"));
    await authenticator.authenticate(header);
    authenticator.forgetTenant("ten_1");
    await authenticator.authenticate(header);
    authenticator.forgetTenant("ten_2");
    await authenticator.authenticate(header);
    expect(calls).to.have.length(3);
  });

  it("loads a key again when the clock was set back", async () => {
    const { load, calls } = tenantsThat(async () => good);
    const authenticator = authenticatorOf(load);
    await authenticator.authenticate(header);
    const { now } = Date;
    try {
      Date.now = () => now() - 3_600_000;
      await authenticator.authenticate(header);
    } finally {
      Date.now = now;
    }
    expect(calls).to.have.length(2);
  });

  it("a response in transit when its key is invalidated is not cached", async () => {
    const waiting: ((value: unknown) => void)[] = [];
    const { load, calls } = tenantsThat(() => new Promise((resolve) => waiting.push(resolve)));
    const authenticator = authenticatorOf(load);
    const first = authenticator.authenticate(header);
    await eventually(async () => waiting.length === 1);
    authenticator.forgetKey(hash("sha256", secret, "hex"));
    waiting[0]?.(good);
    await first;
    const second = authenticator.authenticate(header);
    await eventually(async () => waiting.length === 2);
    waiting[1]?.(good);
    await second;
    expect(calls).to.have.length(2);
  });

  it("refuses unknown, malformed and missing keys, and caches unknown ones", async () => {
    const { load, calls } = tenantsThat(async () => ({}));
    const authenticator = authenticatorOf(load);
    for (const value of [
      header,
      header,
      undefined,
      "",
      "Bearer",
      "Bearer x y",
      `Basic ${secret}`,
    ]) {
      expect(await codeOf(authenticator.authenticate(value)), value).to.equal("unauthenticated");
    }
    expect(calls).to.have.length(1);
  });

  for (const [ended, text] of [
    [0, /^The API key is unknown\./],
    [1, /^The API key was revoked\./],
    [2, /^The API key has expired\./],
    [9, /^The API key is unknown\./],
  ] as const) {
    it(`says of a key with the end ${ended} that ${text.source}, from the cache too`, async () => {
      const { load, calls } = tenantsThat(async () => ({ ended }));
      const authenticator = authenticatorOf(load);
      for (let time = 0; time < 2; time += 1) {
        const error = await authenticator.authenticate(header).then(
          () => undefined,
          (refused: AppError) => refused,
        );
        expect(error?.code).to.equal("unauthenticated");
        expect(error?.message).to.match(text);
      }
      expect(calls).to.have.length(1);
    });
  }

  it("accepts the scheme name in any case", async () => {
    const { load } = tenantsThat(async () => good);
    const authenticator = authenticatorOf(load);
    expect((await authenticator.authenticate(`bearer ${secret}`)).tenantId).to.equal("ten_1");
  });

  it("an unavailable tenant service is 503, not 401, and is not cached", async () => {
    const { load, calls } = tenantsThat(async () => {
      throw new ConnectError("away", Code.Unavailable);
    });
    const authenticator = authenticatorOf(load);
    expect(await codeOf(authenticator.authenticate(header))).to.equal("service_unavailable");
    expect(await codeOf(authenticator.authenticate(header))).to.equal("service_unavailable");
    expect(calls).to.have.length(2);
  });
});

describe("the load limiter", () => {
  it("admits requests up to the limit, and one more for each that finishes", () => {
    const limiter = createLoadLimiter({ requestsMax: 2, delayMaxMs: 500, lagMaxMs: 60_000 });
    limiter.acquire();
    limiter.acquire();
    expect(limiter.hasCapacity()).to.equal(false);
    expect(() => limiter.acquire()).to.throw("busy");
    limiter.release();
    expect(limiter.hasCapacity()).to.equal(true);
    limiter.acquire();
    expect(() => limiter.acquire()).to.throw("busy");
    limiter.close();
  });

  it("lowers the limit while a queue does not move, and raises it when the queue is empty", async () => {
    const limiter = createLoadLimiter({ requestsMax: 2000, delayMaxMs: 500, lagMaxMs: 60_000 });
    const acquireMany = () => {
      let count = 0;
      while (count < 1500 && limiter.hasCapacity()) {
        limiter.acquire();
        count += 1;
      }
      return count;
    };
    expect(acquireMany()).to.equal(1500);
    await eventually(() => !limiter.hasCapacity(), { what: "a lower limit" });
    for (let left = 1500; left > 600; left -= 1) limiter.release();
    expect(limiter.hasCapacity()).to.equal(false);
    for (let left = 600; left > 0; left -= 1) limiter.release();
    await eventually(
      () => {
        const count = acquireMany();
        for (let left = count; left > 0; left -= 1) limiter.release();
        return count === 1500;
      },
      { what: "the full limit" },
    );
    limiter.close();
  });
});
