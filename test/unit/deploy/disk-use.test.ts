import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { diskUse } from "../../../deploy/dev/disk-use.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("the disk that a folder takes", () => {
  it("counts each file once, follows no link, and leaves out the named folders", () => {
    const folder = temporaryFolder("disk");
    const inside = join(folder, "inside");
    mkdirSync(inside);
    const before = diskUse(folder);
    writeFileSync(join(inside, "file"), Buffer.alloc(1_000_000, 7));
    const after = diskUse(folder);
    expect(after - before).to.be.within(1_000_000, 1_100_000);
    linkSync(join(inside, "file"), join(folder, "again"));
    symlinkSync(tmpdir(), join(folder, "elsewhere"));
    expect(diskUse(folder) - after).to.be.below(10_000);
    expect(diskUse(folder, [inside]), "the hard link").to.be.at.least(1_000_000);
    expect(diskUse(folder, [inside, join(folder, "again")])).to.be.below(100_000);
    expect(diskUse(join(folder, "missing"))).to.equal(0);
  });
});
