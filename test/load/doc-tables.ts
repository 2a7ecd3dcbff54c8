/** Writes measured tables into the documentation. */
import { readFileSync, writeFileSync } from "node:fs";

/** Lines of cells; the first is the head. */
export type Table = readonly (readonly string[])[];

/** Puts tables between the two marks that name the command in a document. */
export function writeTables(file: string, command: string, ...tables: readonly Table[]): void {
  const text = readFileSync(file, "utf8");
  const [begin, end] = [`<!-- ${command}: begin -->`, `<!-- ${command}: end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file} has no place for the tables of ${command}`);
  const between = tables.map(markdown).join("\n");
  writeFileSync(file, `${text.slice(0, from)}${begin}\n\n${between}\n${text.slice(to)}`);
}

function markdown([head = [], ...rows]: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  return line(head) + line(head.map(() => "---")) + rows.map(line).join("");
}
