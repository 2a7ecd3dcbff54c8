/** The tables of `make profile`. */
import type { Table } from "./doc-tables.ts";

/** The cost per message of one step of one process, before and after acceptance. */
export type StepRow = {
  readonly process: string;
  readonly step: string;
  readonly accept: number;
  readonly dispatch: number;
};

/** By process, the dearest first, and the sum. */
export function processRows(
  accept: ReadonlyMap<string, number>,
  dispatch: ReadonlyMap<string, number>,
): Table {
  const names = [...accept.keys()];
  const lineOf = (name: string, of: readonly string[]) => {
    const first = of.reduce((sum, one) => sum + (accept.get(one) ?? 0), 0);
    const second = of.reduce((sum, one) => sum + (dispatch.get(one) ?? 0), 0);
    return { name, first, second, total: first + second };
  };
  const rows = names.map((name) => lineOf(name, [name])).sort((a, b) => b.total - a.total);
  const all = lineOf("all", names);
  return [
    ["process", "accept", "to settled and notified", "total"],
    ...[...rows, all].map(({ name, first, second, total }) => [
      name,
      first.toFixed(0),
      second.toFixed(0),
      total.toFixed(0),
    ]),
  ];
}

/** By process and step, the dearest process and step first; small steps are summed up. */
export function stepRows(rows: readonly StepRow[], leastUs: number): Table {
  const totals = new Map<string, number>();
  for (const row of rows) totals.set(row.process, (totals.get(row.process) ?? 0) + costOf(row));
  const shown: StepRow[] = [];
  for (const process of totals.keys()) {
    const own = rows.filter((row) => row.process === process);
    const other = own
      .filter((row) => costOf(row) < leastUs)
      .reduce(add, { process, step: "(other)", accept: 0, dispatch: 0 });
    shown.push(...own.filter((row) => costOf(row) >= leastUs));
    if (costOf(other) >= 0.5) shown.push(other);
  }
  const total = ({ process }: StepRow) => totals.get(process) ?? 0;
  shown.sort((a, b) => total(b) - total(a) || costOf(b) - costOf(a));
  return [
    ["process", "step", "accept", "to settled and notified", "total"],
    ...shown.map((row) => [
      row.process,
      row.step,
      row.accept.toFixed(0),
      row.dispatch.toFixed(0),
      costOf(row).toFixed(0),
    ]),
  ];
}

function costOf({ accept, dispatch }: StepRow): number {
  return accept + dispatch;
}

function add(sum: StepRow, row: StepRow): StepRow {
  return { ...sum, accept: sum.accept + row.accept, dispatch: sum.dispatch + row.dispatch };
}
