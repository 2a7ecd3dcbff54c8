import { inspect } from "node:util";
import { expect } from "chai";
import { ConfigError } from "../../../services/shared/io/config.ts";
import { natsOptions } from "../../../services/shared/io/nats-options.ts";

describe("NATS_URL", () => {
  const cases: readonly (readonly [string, object])[] = [
    ["nats://a:4222", { servers: ["nats://a:4222"] }],
    ["nats://a:4222,nats://b:4222", { servers: ["nats://a:4222", "nats://b:4222"] }],
    [
      "nats://user:9secret@a.svc:4222,nats://user:9secret@b.svc:4222",
      { servers: ["nats://a.svc:4222", "nats://b.svc:4222"], user: "user", pass: "9secret" },
    ],
    [
      "tls://us%40er:p%3A%2Fw@a:4222",
      { servers: ["tls://a:4222"], user: "us@er", pass: "p:/w", tls: {} },
    ],
    ["nats://a:4222,tls://b:4222", { servers: ["nats://a:4222", "tls://b:4222"], tls: {} }],
    ["nats://token-of-ours@a:4222", { servers: ["nats://a:4222"], token: "token-of-ours" }],
    ["user:pw@a:4222", { servers: ["nats://a:4222"], user: "user", pass: "pw" }],
  ];
  for (const [url, expected] of cases) {
    it(`reads ${url}`, () => {
      expect(natsOptions(url, {})).to.deep.equal(expected);
    });
  }

  for (const url of ["nats://user:se/cret@host:4222", "nats://user:50%se-cret@host:4222"]) {
    it(`is not repeated when it is no URL, as ${url}: it may hold a password`, () => {
      let thrown: unknown;
      try {
        natsOptions(url, {});
      } catch (error) {
        thrown = error;
      }
      expect(thrown).to.be.instanceOf(ConfigError);
      expect(inspect(thrown)).not.to.include("cret");
    });
  }
});
