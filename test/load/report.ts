import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";

/** One row of a benchmark: what was wanted and what was measured. */
export type Row = {
  readonly path: string;
  /** The budget ("at least") and the aim, as texts with units. */
  readonly budget: string;
  readonly aim: string;
  readonly measured: string;
  readonly met: boolean;
  /** The figures behind it, for the JSON file. */
  readonly figures: Readonly<Record<string, number>>;
};

/** The machine a benchmark ran on. */
export function describeMachine(): Record<string, string | number> {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
  };
}

/** Prints the rows beside their budgets and keeps them as JSON; answers the file. */
export function report(name: string, rows: readonly Row[]): string {
  const machine = describeMachine();
  const lines = [
    ["path", "at least", "aim", "measured", ""],
    ...rows.map((row) => [
      row.path,
      row.budget,
      row.aim,
      row.measured,
      row.met ? "met" : "NOT met",
    ]),
  ];
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
  process.stdout.write(
    `on ${machine.cpu}, ${machine.cores} cores, ${machine.memory_gib} GiB, Node ${machine.node}\n`,
  );
  const folder = join(process.cwd(), ".local/bench");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}-${new Date().toISOString().replaceAll(":", "-")}.json`);
  writeFileSync(
    file,
    `${JSON.stringify({ machine, at: new Date().toISOString(), rows }, null, 2)}\n`,
  );
  process.stdout.write(`kept in ${file.slice(process.cwd().length + 1)}\n`);
  return file;
}
