import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import {
  endProcess,
  isRunning,
  lastLines,
  type ProcessRecord,
  startProcess,
} from "../../../deploy/dev/processes.ts";
import { eventually } from "../../support/poll.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("the processes of a stack", () => {
  const dir = temporaryFolder("processes");
  const logFile = join(dir, "out.log");
  const start = (script: string) =>
    startProcess({
      name: "probe",
      program: "/bin/sh",
      args: ["-c", script],
      cwd: dir,
      env: process.env,
      logFile,
    });
  let record: ProcessRecord | undefined;

  afterEach(async () => {
    if (record !== undefined) await endProcess(record, 0);
    record = undefined;
  });

  it("are running from their start until they are ended", async () => {
    record = await start("sleep 60");
    expect(isRunning(record)).to.equal(true);
    expect(await endProcess(record, 5_000)).to.equal("ended");
    expect(isRunning(record)).to.equal(false);
  });

  it("are killed when they do not end in time", async () => {
    record = await start("trap '' TERM; echo deaf; while :; do sleep 1; done");
    await eventually(() => readFileSync(logFile, "utf8").includes("deaf"));
    expect(await endProcess(record, 50)).to.equal("killed");
    expect(isRunning(record)).to.equal(false);
  });

  it("that have a recycled pid are foreign and not stopped", async () => {
    record = await start("sleep 60");
    const recycled = { ...record, startTicks: String(Number(record.startTicks) - 1) };
    expect(isRunning(recycled)).to.equal(false);
    await endProcess(recycled, 1_000);
    expect(isRunning(record)).to.equal(true);
  });

  it("from before a reboot are not taken for running ones", async () => {
    record = await start("sleep 60");
    expect(isRunning({ ...record, bootId: "another boot" })).to.equal(false);
  });

  it("write their output to their log", async () => {
    record = await start("echo one; echo two; echo three >&2");
    await eventually(() => lastLines(logFile, 2) === "  two\n  three");
  });
});
