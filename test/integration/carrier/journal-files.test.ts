/** The files of the journal: their modes, and the parts of messages in them. */
import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import type { PartRef } from "../../../services/carrier/domain/journal-lines.ts";
import { openJournal } from "../../../services/carrier/store/journal.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("the files of a carrier's journal", () => {
  let dir: string;

  beforeEach(() => {
    dir = temporaryFolder("journal-files");
  });

  const entry = (messageId: string) => {
    const counts = { parts: 2, segments: 0 };
    return { messageId, connectorId: "smsc", to: "+234", from: "DEMO", ...counts, atMs: 7 };
  };
  const open = () => openJournal({ dir, carrierId: "c1", bootId: "boot-1" });

  it("gives a later process the parts whose octets may have left, also after a compaction", async () => {
    const first = await open();
    first.append([{ ...entry("msg_a"), parts: 3, written: new Set([0]) }, entry("msg_b")]);
    first.append(
      [],
      [
        { messageId: "msg_a", index: 2 },
        { messageId: "msg_b", index: 1 },
      ],
    );
    first.close();
    for (const count of [1, 2]) {
      const later = await open();
      expect(
        [...(later.inherited.get("msg_a")?.written ?? [])],
        `opened ${count} times`,
      ).to.deep.equal([0, 2]);
      expect(later.inherited.get("msg_b"), "of a release without parts").not.to.have.property(
        "written",
      );
      later.close();
    }
  });

  it("gives a later process the parts that the carrier refused last, also after a compaction", async () => {
    const first = await open();
    const sets = { written: new Set([0]), refused: new Set<number>() };
    first.append([{ ...entry("msg_a"), parts: 3, ...sets }]);
    const [second, third] = [1, 2].map((index) => ({ messageId: "msg_a", index })) as [
      PartRef,
      PartRef,
    ];
    first.append([], [second, third]);
    for (const part of [second, third]) first.markRefused(part);
    first.append([], [third]);
    first.close();
    for (const count of [1, 2]) {
      const later = await open();
      const { written, refused } = later.inherited.get("msg_a") ?? {};
      expect([...(written ?? [])], `opened ${count} times`).to.deep.equal([0, 1, 2]);
      expect([...(refused ?? [])], `opened ${count} times`).to.deep.equal([1]);
      later.close();
    }
  });

  it("only its owner can read the files and the folder, also those of an earlier version", async () => {
    mkdirSync(join(dir, "a"), { recursive: true });
    chmodSync(join(dir, "a"), 0o755);
    (await openJournal({ dir, carrierId: "a" })).close();
    const journalFile = readdirSync(join(dir, "a")).find((name) => name.endsWith(".journal"));
    chmodSync(join(dir, "a", journalFile ?? ""), 0o644);
    (await openJournal({ dir, carrierId: "a" })).close();
    const modeOf = (path: string) => statSync(path).mode & 0o777;
    expect(modeOf(join(dir, "a"))).to.equal(0o700);
    for (const name of readdirSync(join(dir, "a"))) {
      expect(modeOf(join(dir, "a", name)), name).to.equal(0o600);
    }
  });
});
