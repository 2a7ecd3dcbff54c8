import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join, relative } from "node:path";

/** One row of a benchmark: budget and measurement. */
export type Row = {
  readonly path: string;
  /** The budget ("at least") and the aim, as texts with units. */
  readonly budget: string;
  readonly aim: string;
  readonly measured: string;
  readonly met: boolean;
  /** Why the budget says nothing about this run, shown in place of a verdict. */
  readonly notChecked?: string;
  /** The command that measures this row alone, at full length. */
  readonly command?: string;
  /** The same work on the row's peer, in the same run: its figure, and ours over its. */
  readonly peer?: { readonly name: string; readonly text: string; readonly ratio?: number };
  /** The figures behind it, for the JSON file. */
  readonly figures: Readonly<Record<string, number>>;
};

/** The machine a benchmark ran on. */
function describeMachine(): Record<string, string | number> {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
  };
}

/** The verdict on a row; a row without a budget has none. */
export function verdictOf({ budget, met, notChecked }: CheckedRow): string {
  if (budget === "") return "";
  return notChecked ?? (met ? "met" : "NOT met");
}

/** Lets the process end with 1 where a row's budget is not met. */
export function failUnlessMet(rows: readonly CheckedRow[]): void {
  if (rows.some((row) => verdictOf(row) === "NOT met")) process.exitCode = 1;
}

type CheckedRow = Pick<Row, "budget" | "met" | "notChecked">;

/**
 * Prints the rows beside their budgets and keeps them as JSON; answers the file. Where a budget is not
 * met, the process will end with 1. `BENCH_OUT` in the environment names the file: `make bench` reads
 * there what another benchmark measured.
 */
export function report(name: string, rows: readonly Row[]): string {
  const lines = [
    ["path", "at least", "aim", "measured", "", "ours ÷ peer's", "command"],
    ...rows.map((row) => [
      row.path,
      row.budget,
      row.aim,
      row.measured,
      verdictOf(row),
      describePeer(row.peer),
      row.command ?? "",
    ]),
  ];
  printTable(lines);
  failUnlessMet(rows);
  return keepResult(name, { rows });
}

function describePeer(peer: Row["peer"]): string {
  if (peer === undefined) return "";
  const ratio = peer.ratio === undefined ? "" : `${peer.ratio.toFixed(2)} × `;
  return `${ratio}${peer.name}: ${peer.text}`;
}

/** Prints lines of columns under a common width each. */
export function printTable(lines: readonly (readonly string[])[]): void {
  const widths = (lines[0] ?? []).map((_, at) =>
    Math.max(...lines.map((line) => line[at]?.length ?? 0)),
  );
  for (const line of lines) {
    process.stdout.write(
      `${line
        .map((text, at) => text.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd()}\n`,
    );
  }
}

/** Prints the machine and saves a result as JSON below `.local/bench`; returns the file. */
export function keepResult(name: string, result: Readonly<Record<string, unknown>>): string {
  const machine = describeMachine();
  process.stdout.write(
    `on ${machine.cpu}, ${machine.cores} cores, ${machine.memory_gib} GiB, Node ${machine.node}\n`,
  );
  const folder = join(process.cwd(), ".local/bench");
  mkdirSync(folder, { recursive: true });
  const at = new Date().toISOString();
  const file = process.env.BENCH_OUT ?? join(folder, `${name}-${at.replaceAll(":", "-")}.json`);
  writeFileSync(file, `${JSON.stringify({ machine, at, ...result }, null, 2)}\n`);
  process.stdout.write(`kept in ${relative(process.cwd(), file)}\n`);
  return file;
}
