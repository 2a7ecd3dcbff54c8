/** The journal and its folder on a real disk, and what a killed process leaves in them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import {
  createOutcomeReporter,
  type OutcomeReport,
} from "../../../services/carrier/app/outcome-reporter.ts";
import type { Journal } from "../../../services/carrier/app/ports.ts";
import type { Outcome } from "../../../services/carrier/domain/message.ts";
import type { Submission, UnknownSubmission } from "../../../services/carrier/domain/submission.ts";
import { openJournal } from "../../../services/carrier/store/journal.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { eventually } from "../../support/poll.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const JOURNAL = fileURLToPath(
  new URL("../../../services/carrier/store/journal.ts", import.meta.url),
);

describe("the journal of a carrier process", () => {
  let dir: string;

  beforeEach(() => {
    dir = temporaryFolder("journal");
  });

  const entry = (messageId: string) => {
    const counts = { parts: 2, segments: 0 };
    return { messageId, connectorId: "smsc", to: "+234", from: "DEMO", ...counts, atMs: 7 };
  };
  const open = (bootId = "boot-1") => openJournal({ dir, carrierId: "c1", bootId });

  it("gives a later process the unsettled entries and the same identity", async () => {
    const first = await open();
    first.append([entry("msg_a"), entry("msg_b"), entry("msg_c")]);
    first.markSettled(["msg_b"]);
    first.close();
    const second = await open();
    expect([...second.inherited.keys()]).to.deep.equal(["msg_a", "msg_c"]);
    expect(second.inherited.get("msg_a")).to.deep.equal(entry("msg_a"));
    expect(second.carrierId).to.equal(first.carrierId);
    expect([first.start, second.start]).to.deep.equal([1, 2]);
    second.markSettled(["msg_a", "msg_c"]);
    second.close();
    const third = await open();
    expect(third.inherited.size).to.equal(0);
    third.close();
  });

  it("a truncated line does not count", async () => {
    const first = await open();
    first.append([entry("msg_a")]);
    first.close();
    const [file = ""] = readdirSync(join(dir, "c1")).filter((name) => name.endsWith(".journal"));
    appendFileSync(join(dir, "c1", file), "S\tmsg_a");
    const second = await open();
    expect([...second.inherited.keys()]).to.deep.equal(["msg_a"]);
    second.close();
  });

  it("an entry survives kill -9", async () => {
    const script = `
      const { openJournal } = await import(${JSON.stringify(JOURNAL)});
      const journal = await openJournal({ dir: ${JSON.stringify(dir)}, carrierId: "c1", bootId: "boot-1" });
      journal.append([${JSON.stringify(entry("msg_killed"))}]);
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

  it("a reboot gives a new identity, so that no message counts as unwritten", async () => {
    const first = await open("boot-1");
    first.append([entry("msg_a")]);
    first.close();
    const rebooted = await open("boot-2");
    expect(rebooted.carrierId).not.to.equal(first.carrierId);
    expect(rebooted.start).to.equal(1);
    // Its earlier messages are still known by their parties, so that receipts can find them.
    expect([...rebooted.orphaned.keys()]).to.deep.equal(["msg_a"]);
    expect(rebooted.inherited.size).to.equal(0);
    rebooted.close();
    // They are kept for as long as no process has said that they are stored elsewhere.
    const again = await open("boot-2");
    expect([...again.orphaned.keys()]).to.deep.equal(["msg_a"]);
    again.removeEarlier();
    again.close();
    const later = await open("boot-2");
    expect(later.orphaned.size).to.equal(0);
    later.close();
  });

  it("an identity without its journal is not used again", async () => {
    const first = await open();
    first.append([entry("msg_a")]);
    first.close();
    rmSync(join(dir, "c1", `${first.carrierId}.journal`));
    const second = await open();
    expect(second.carrierId).not.to.equal(first.carrierId);
    expect(second.start).to.equal(1);
    second.close();
  });

  it("the late answer to an old report leaves the line of a newer claim open", async () => {
    const journal = await open();
    const answers: (() => void)[] = [];
    const reporter = reporterOn(journal, () => new Promise((done) => answers.push(() => done([]))));
    journal.append([entry("msg_a")]);
    reporter.report(reportOf("msg_a"));
    await eventually(() => answers.length === 1);
    // Messaging has the outcome and hands the message out again before its answer arrives.
    journal.append([entry("msg_a")]);
    answers[0]?.();
    expect(await reporter.drain(2000)).to.equal(true);
    expect(journal.open).to.equal(1);
    journal.close();
    const next = await open();
    expect([...next.inherited.keys()]).to.deep.equal(["msg_a"]);
    next.close();
  });

  it("accepted submissions are stored while messaging is unavailable", async () => {
    const stored: string[] = [];
    const journal = { entryOf: () => undefined, markReported: () => undefined };
    const away = () => new Promise<readonly string[]>(() => undefined);
    const reporter = reporterOn(journal, away, async (submissions) => {
      stored.push(...submissions.map(({ key }) => key));
    });
    const submission = (key: string) => ({
      ...{ connectorId: "smsc", key, messageId: `msg_${key}`, segment: 0 },
      ...{ to: "+2348031234567", from: "Acme", atMs: 0 },
    });
    // More batches than may be in flight, all without an answer.
    for (let at = 0; at < 8; at += 1) {
      reporter.report({ ...reportOf(`msg_${at}`), submissions: [submission(`${at}`)] });
      await eventually(() => stored.length === at + 1);
    }
    reporter.saveSubmissions([submission("begun")]);
    await eventually(() => stored.at(-1) === "begun");
    expect(reporter.pending).to.equal(8);
  });

  it("the report on the newer claim settles its line", async () => {
    const journal = await open();
    const reporter = reporterOn(journal, async () => []);
    for (let claim = 0; claim < 2; claim++) {
      journal.append([entry("msg_a")]);
      reporter.report(reportOf("msg_a"));
      expect(await reporter.drain(2000)).to.equal(true);
    }
    expect(journal.open).to.equal(0);
    journal.close();
    const next = await open();
    expect(next.inherited.size).to.equal(0);
    next.close();
  });

  it("a rejected outcome blocks no other and is retried until messaging takes it", async () => {
    const journal = await open();
    const sentOutcomes: string[] = [];
    let isWrong = true;
    const reporter = reporterOn(journal, async (outcomes) => {
      const ids = outcomes.map(({ messageId }) => messageId);
      if (isWrong && ids.includes("msg_b")) throw new AppError("validation_error", "No such kind.");
      sentOutcomes.push(...ids);
      return [];
    });
    journal.append(["msg_a", "msg_b", "msg_c"].map(entry));
    for (const id of ["msg_a", "msg_b", "msg_c"]) reporter.report(reportOf(id));
    await eventually(() => sentOutcomes.length === 2);
    expect(sentOutcomes).to.deep.equal(["msg_a", "msg_c"]);
    await eventually(() => journal.open === 1);
    expect(reporter.isStuck).to.equal(false);
    expect(reporter.pending).to.equal(1);
    isWrong = false;
    expect(await reporter.drain(5000)).to.equal(true);
    expect(sentOutcomes).to.deep.equal(["msg_a", "msg_c", "msg_b"]);
    expect(journal.open).to.equal(0);
    journal.close();
  });

  it("a rejected outcome does not stop claims after an outage", async () => {
    const journal = await open();
    let calls = 0;
    const reporter = reporterOn(journal, async () => {
      calls += 1;
      throw new AppError(calls === 2 ? "service_unavailable" : "validation_error", "No.");
    });
    reporter.report(reportOf("msg_a"));
    await eventually(() => calls >= 3 && !reporter.isStuck);
    expect(reporter.setAside).to.equal(1);
    const reportedBefore = calls;
    // It is reported once more, and `drain` does not wait longer.
    expect(await reporter.drain(60_000)).to.equal(false);
    expect(calls).to.be.above(reportedBefore);
    journal.close();
  });

  it("a submit in doubt is stored with the time of its journal entry, also when the entry stays open", async () => {
    const journal = await open();
    const stored: UnknownSubmission[] = [];
    const save = async (items: readonly UnknownSubmission[]) => void stored.push(...items);
    const reporter = reporterOn(
      journal,
      async () => [],
      async () => undefined,
      save,
    );
    journal.append([entry("msg_a"), entry("msg_b")]);
    const parties = { connectorId: "smsc", to: "2348031234567", from: "demo" };
    for (const [messageId, keepsEntry] of [
      ["msg_a", false],
      ["msg_b", true],
      ["msg_unwritten", false],
    ] as const) {
      const unknowns = [{ ...parties, messageId, segment: 0, atMs: 9000 }];
      reporter.report({ ...reportOf(messageId), unknowns, keepsEntry });
      expect(await reporter.drain(2000)).to.equal(true);
    }
    const { atMs } = entry("");
    expect(stored.map((one) => one.submittedAtMs)).to.deep.equal([atMs, atMs, undefined]);
    expect(journal.open).to.equal(1);
    journal.close();
  });

  it("outcomes are reported although the journal cannot be written", async () => {
    const journal = await open();
    const sentOutcomes: string[] = [];
    const full = {
      entryOf: journal.entryOf,
      markReported() {
        throw new Error("no space left on device");
      },
    };
    const reporter = reporterOn(full, async (outcomes) => {
      sentOutcomes.push(...outcomes.map(({ messageId }) => messageId));
      return [];
    });
    journal.append([entry("msg_a")]);
    for (const id of ["msg_a", "msg_b"]) {
      reporter.report(reportOf(id));
      expect(await reporter.drain(2000)).to.equal(true);
    }
    expect(sentOutcomes).to.deep.equal(["msg_a", "msg_b"]);
    journal.close();
  });

  it("a full disk: what is not whole in the journal is refused, and later lines are not lost with it", async () => {
    const { code, output } = await runWithFileLimit(`
      const { execFileSync } = await import("node:child_process");
      const { openJournal } = await import(${JSON.stringify(JOURNAL)});
      const journal = await openJournal({ dir: ${JSON.stringify(dir)}, carrierId: "c1", bootId: "boot-1" });
      const note = (id) => {
        const entry = ${JSON.stringify(entry(""))};
        try {
          journal.append([{ ...entry, messageId: id }]);
          return true;
        } catch {
          return false;
        }
      };
      const taken = [];
      let at = 0;
      while (note("msg_" + at)) taken.push("msg_" + at++);
      // Some room, but not enough: the limit on the file stands in for the disk.
      const refused = [at, at + 1, at + 2].filter((id) => note("msg_" + id));
      execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=1000000:"]);
      if (note("msg_last")) taken.push("msg_last");
      process.stdout.write(JSON.stringify({ taken, refused, open: journal.open }));
      process.kill(process.pid, "SIGKILL");
    `);
    expect(code, output).to.equal("SIGKILL");
    const { taken, refused, open: count } = JSON.parse(output);
    expect(refused).to.deep.equal([]);
    expect(taken.length).to.be.above(50);
    expect(taken.at(-1)).to.equal("msg_last");
    expect(count).to.equal(taken.length);
    const next = await open();
    expect([...next.inherited.keys()]).to.deep.equal(taken);
    next.close();
  });

  it("a journal that cannot be compacted keeps its entries", async () => {
    const first = await open();
    const ids = Array.from({ length: 300 }, (_, at) => `msg_${at}`);
    first.append(ids.map(entry));
    first.close();
    const { output } = await runWithFileLimit(`
      const { openJournal } = await import(${JSON.stringify(JOURNAL)});
      const options = { dir: ${JSON.stringify(dir)}, carrierId: "c1", bootId: "boot-1" };
      await openJournal(options).then(
        () => process.stdout.write("opened"),
        (error) => process.stdout.write(error.code),
      );
    `);
    expect(output).to.equal("EFBIG");
    const next = await open();
    expect([...next.inherited.keys()]).to.deep.equal(ids);
    next.close();
  });

  it("is compacted", async () => {
    const journal = await open();
    journal.append([entry("msg_kept")]);
    for (let round = 0; round < 300; round++) {
      const ids = Array.from({ length: 500 }, (_, at) => `msg_${round}_${at}_${"x".repeat(60)}`);
      journal.append(ids.map(entry));
      journal.markSettled(ids);
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

/** Runs a script in a process whose files may have 8 KiB: the write that goes beyond is cut short. */
async function runWithFileLimit(script: string): Promise<{ code: unknown; output: string }> {
  const shell = 'ulimit -S -f 8; exec "$0" --input-type=module -e "$1"';
  const child = spawn("bash", ["-c", shell, process.execPath, script]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const [code, signal] = await once(child, "close");
  return { code: code ?? signal, output };
}

function reporterOn(
  journal: Pick<Journal, "entryOf" | "markReported">,
  reportOutcomes: (outcomes: readonly Outcome[]) => Promise<readonly string[]>,
  saveSubmissions: (submissions: readonly Submission[]) => Promise<void> = async () => undefined,
  saveUnknowns: (items: readonly UnknownSubmission[]) => Promise<void> = async () => undefined,
) {
  const nothing = () => Promise.resolve();
  return createOutcomeReporter({
    store: { saveSubmissions, saveUnknowns, removeUnknowns: nothing },
    messaging: {
      reportOutcomes: async (outcomes) => ({ stale: await reportOutcomes(outcomes), proven: [] }),
    },
    journal,
    log: createLogger("test", "silent"),
    onStored: () => undefined,
  });
}

function reportOf(messageId: string): OutcomeReport {
  return {
    outcome: {
      messageId,
      claimId: "claim-1",
      kind: "not_sent",
      carrierCode: "no_link",
      errorCode: "",
      retryAtMs: 0,
      occurredAtMs: 0,
    },
    submissions: [],
    unknowns: [],
    resolved: [],
  };
}
