/** Budget rows with their own benchmark, and their short form in `make bench`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { Row } from "./report.ts";

/** A benchmark with rows of its own. */
export type OwnCommand = {
  /** The command of the full benchmark. */
  readonly command: string;
  readonly file: string;
  readonly args?: readonly string[];
  /** The settings that make it short. */
  readonly env?: Readonly<Record<string, string>>;
};

/** By the name that `ROWS` knows. */
export const OWN_COMMANDS = {
  memory: { command: "make bench-memory", file: "bench-memory.ts" },
  list: {
    command: "make bench-list",
    file: "bench-list.ts",
    env: { COUNT: "300000", BENCH_SECONDS: "2" },
  },
  webhook: { command: "make bench-webhook", file: "bench-webhook.ts", args: ["--seconds", "3"] },
  smpp: { command: "make bench-smpp", file: "bench-smpp.ts", env: { SECONDS: "1.5" } },
  rate: {
    command: "make bench-connector-rate",
    file: "bench-connector-rate.ts",
    env: { SECONDS: "10" },
  },
} as const satisfies Record<string, OwnCommand>;

/** Far longer than the short form takes. */
const TIMEOUT_MS = 240_000;

/** Runs it in its own process and returns its rows; a failed run is a row not met. */
export async function runOwnCommand(own: OwnCommand): Promise<Row[]> {
  const folder = temporaryFolder("bench");
  const out = join(folder, "rows.json");
  try {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, own.file), ...(own.args ?? [])],
      {
        env: { ...process.env, ...own.env, BENCH_OUT: out },
        stdio: ["ignore", "ignore", "inherit"],
        timeout: TIMEOUT_MS,
      },
    );
    await once(child, "exit");
    const { rows } = JSON.parse(await readFile(out, "utf8")) as { rows: Row[] };
    return rows.map((row) => ({ ...row, command: own.command }));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [
      {
        path: own.command,
        command: own.command,
        budget: "measured",
        aim: "",
        measured: `failed: ${why}`,
        met: false,
        figures: {},
      },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
