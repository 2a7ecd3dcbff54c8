import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { ROOT } from "../../../deploy/dev/paths.ts";
import {
  dateChangelog,
  isGreater,
  replaceVersion,
  VERSION_PLACES,
} from "../../../deploy/release.ts";

describe("make release", () => {
  it("accepts only a version that is greater than the present one", () => {
    expect(isGreater("0.2.0", "0.1.9")).to.equal(true);
    expect(isGreater("0.10.0", "0.9.0")).to.equal(true);
    expect(isGreater("1.0.0", "0.99.99")).to.equal(true);
    expect(isGreater("0.2.0", "0.2.0")).to.equal(false);
    expect(isGreater("0.1.9", "0.2.0")).to.equal(false);
  });

  it("dates the unreleased section and leaves an empty one above it", () => {
    const text = "# Changelog\n\n## Unreleased\n\n- A change.\n\n## 0.1.0 - 2026-11-21\n\n- Old.\n";
    expect(dateChangelog(text, "0.2.0", "2026-11-27")).to.equal(
      "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-11-27\n\n- A change.\n\n## 0.1.0 - 2026-11-21\n\n- Old.\n",
    );
  });

  it("refuses a changelog without unreleased changes", () => {
    const text = "# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-11-21\n\n- Old.\n";
    expect(() => dateChangelog(text, "0.2.0", "2026-11-27")).to.throw("nothing under");
  });

  it("finds every place of the version, and all places hold the version of package.json", () => {
    const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
    const { version } = JSON.parse(read("package.json")) as { version: string };
    for (const place of VERSION_PLACES) {
      const text = read(place.file);
      expect(replaceVersion(text, place, version) === text, place.file).to.equal(true);
    }
  });
});
