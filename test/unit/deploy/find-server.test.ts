import { expect } from "chai";
import { compareVersions, versionIn, whyItCannotRun } from "../../../deploy/dev/find-server.ts";
import { SERVERS } from "../../../deploy/dev/server-table.ts";
import { pinOf } from "../../../deploy/dev/wheels.ts";

describe("finding a server's program", () => {
  const VERSIONS = [
    ["db version v6.0.5\nBuild Info: {", "6.0.5"],
    ["nats-server: v2.14.0", "2.14.0"],
    ["Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150", "9.1.2"],
    ["Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", "7.0.15"],
    ["no number here", undefined],
  ] as const;
  for (const [text, version] of VERSIONS) {
    it(`reads ${version} from "${text.split("\n")[0]}"`, () => {
      expect(versionIn(text)).to.equal(version);
    });
  }

  it("compares versions as numbers, part by part", () => {
    expect(compareVersions("2.10.1", "2.9")).to.equal(1);
    expect(compareVersions("6.0", "6.0.0")).to.equal(0);
    expect(compareVersions("6.2", "7")).to.equal(-1);
  });

  it("names the missing library and the alternatives", () => {
    const text = "mongod: error while loading shared libraries: libcrypto.so.3: cannot open";
    const line = whyItCannotRun(SERVERS.mongod, text);
    expect(line).to.include("libcrypto.so.3").and.include("libssl3").and.include("MONGODB_URI");
    expect(line).not.to.include("\n");
  });

  it("pins every wheel to one version, by hash", () => {
    const pins = "# words\na-wheel==1.2.3 --hash=sha256:00\nb==4\n";
    expect(pinOf("a-wheel", pins)).to.equal("a-wheel==1.2.3 --hash=sha256:00");
    expect(() => pinOf("a", pins)).to.throw("does not pin");
  });
});
