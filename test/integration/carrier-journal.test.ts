/** The journal and its folder on a real disk, and what a killed process leaves in them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { openJournal } from "../../services/carrier/journal.ts";

const JOURNAL = fileURLToPath(new URL("../../services/carrier/journal.ts", import.meta.url));

describe("the journal of a carrier process", () => {
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "sms-journal-"));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const entry = (messageId: string) => {
    return { messageId, connectorId: "smsc", to: "+234", from: "DEMO", parts: 2, atMs: 7 };
  };
  const open = (bootId = "boot-1") => openJournal({ dir, carrierId: "c1", bootId });

  it("tells a later process what was written and never settled, and who it is", async () => {
    const first = await open();
    first.noteWritten([entry("msg_a"), entry("msg_b"), entry("msg_c")]);
    first.noteSettled(["msg_b"]);
    first.close();
    const second = await open();
    expect([...second.inherited.keys()]).to.deep.equal(["msg_a", "msg_c"]);
    expect(second.inherited.get("msg_a")).to.deep.equal(entry("msg_a"));
    expect(second.carrierId).to.equal(first.carrierId);
    expect([first.start, second.start]).to.deep.equal([1, 2]);
    second.noteSettled(["msg_a", "msg_c"]);
    second.close();
    const third = await open();
    expect(third.inherited.size).to.equal(0);
    third.close();
  });

  it("a line that a crash cut short is no line", async () => {
    const first = await open();
    first.noteWritten([entry("msg_a")]);
    first.close();
    const [file = ""] = readdirSync(join(dir, "c1")).filter((name) => name.endsWith(".journal"));
    appendFileSync(join(dir, "c1", file), "S\tmsg_a");
    const second = await open();
    expect([...second.inherited.keys()]).to.deep.equal(["msg_a"]);
    second.close();
  });

  it("what was noted outlives kill -9 at once", async () => {
    const script = `
      const { openJournal } = await import(${JSON.stringify(JOURNAL)});
      const journal = await openJournal({ dir: ${JSON.stringify(dir)}, carrierId: "c1", bootId: "boot-1" });
      journal.noteWritten([${JSON.stringify(entry("msg_killed"))}]);
      process.kill(process.pid, "SIGKILL");
    `;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
    const [, signal] = await once(child, "exit");
    expect(signal).to.equal("SIGKILL");
    const next = await open();
    expect([...next.inherited.keys()]).to.deep.equal(["msg_killed"]);
    next.close();
  });

  it("two processes never hold one folder; the next may when the first has ended", async () => {
    const first = await open();
    const refused = await open().then(
      () => "opened",
      (error: Error) => error.message,
    );
    expect(refused).to.match(/another carrier process/);
    first.close();
    const second = await open();
    second.close();
  });

  it("after a reboot, or with another disk, it is somebody new: nothing is called unwritten", async () => {
    const first = await open("boot-1");
    first.noteWritten([entry("msg_a")]);
    first.close();
    const rebooted = await open("boot-2");
    expect(rebooted.carrierId).not.to.equal(first.carrierId);
    expect(rebooted.start).to.equal(1);
    // Its earlier messages are still known by their parties, so that receipts can find them.
    expect([...rebooted.orphaned.keys()]).to.deep.equal(["msg_a"]);
    expect(rebooted.inherited.size).to.equal(0);
    rebooted.close();
    const again = await open("boot-2");
    expect(again.orphaned.size).to.equal(0);
    again.close();
  });

  it("does not grow for ever", async () => {
    const journal = await open();
    journal.noteWritten([entry("msg_kept")]);
    for (let round = 0; round < 300; round++) {
      const ids = Array.from({ length: 500 }, (_, at) => `msg_${round}_${at}_${"x".repeat(60)}`);
      journal.noteWritten(ids.map(entry));
      journal.noteSettled(ids);
    }
    const [file = ""] = readdirSync(join(dir, "c1")).filter((name) => name.endsWith(".journal"));
    expect(readFileSync(join(dir, "c1", file)).length).to.be.below(18 * 1024 * 1024);
    expect(journal.open).to.equal(1);
    journal.close();
    const next = await open();
    expect([...next.inherited.keys()]).to.deep.equal(["msg_kept"]);
    next.close();
  });
});
