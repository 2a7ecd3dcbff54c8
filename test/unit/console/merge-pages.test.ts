/** The rows of a list in the console, while it changes and further pages are loaded. */
import { expect } from "chai";
import fc from "fast-check";
import {
  onlyFirst,
  type ShownPages,
  withFirst,
  withNext,
} from "../../../console/core/merge-pages.ts";

type Row = { readonly id: string; readonly version: number };

const idOf = ({ id }: Row) => id;
const PAGE = 3;

/** A page of a list, newest first, after a row. */
function pageOf(list: readonly Row[], after?: string) {
  const from = after === undefined ? 0 : list.findIndex(({ id }) => id <= after);
  const rest = from < 0 ? [] : list.slice(from).filter(({ id }) => id !== after);
  const data = rest.slice(0, PAGE);
  const last = data.at(-1);
  return { data, next_cursor: rest.length > PAGE && last !== undefined ? last.id : null };
}

const rowsOf = (...ids: number[]): Row[] =>
  ids.map((id) => ({ id: String(id).padStart(6, "0"), version: 0 }));
const idsOf = ({ rows }: ShownPages<Row>) => rows.map(({ id }) => Number(id));

describe("the rows of a list", () => {
  it("are each shown once when new ones push others out of the first page", () => {
    const list = rowsOf(6, 5, 4, 3, 2, 1);
    const first = onlyFirst(pageOf(list));
    const both = withNext(first, pageOf(list, first.next ?? ""), idOf);
    expect(idsOf(both)).to.deep.equal([6, 5, 4, 3, 2, 1]);
    const later = withFirst(both, pageOf([...rowsOf(8, 7), ...list]), idOf);
    expect(idsOf(later)).to.deep.equal([8, 7, 6, 5, 4, 3, 2, 1]);
  });

  it("are removed when the first page no longer has them", () => {
    const list = rowsOf(6, 5, 4, 3, 2, 1);
    const first = onlyFirst(pageOf(list));
    const both = withNext(first, pageOf(list, first.next ?? ""), idOf);
    const later = withFirst(both, pageOf(rowsOf(6, 4, 3, 2, 1)), idOf);
    expect(idsOf(later)).to.deep.equal([6, 4, 3, 2, 1]);
  });

  it("stay as they are, with a notice, when more than a page of new ones has come", () => {
    const list = rowsOf(6, 5, 4, 3, 2, 1);
    const first = onlyFirst(pageOf(list));
    const both = withNext(first, pageOf(list, first.next ?? ""), idOf);
    const later = withFirst(both, pageOf([...rowsOf(10, 9, 8, 7), ...list]), idOf);
    expect(later).to.deep.include({ rows: both.rows, isBehind: true });
  });

  it("have the state of the newest answer", () => {
    const list = rowsOf(4, 3, 2, 1);
    const first = onlyFirst(pageOf(list));
    const both = withNext(first, pageOf(list, first.next ?? ""), idOf);
    const changed = list.map((row) => ({ ...row, version: 1 }));
    const later = withFirst(both, pageOf(changed), idOf);
    expect(later.rows.map(({ version }) => version)).to.deep.equal([1, 1, 1, 0]);
  });

  it("are in order, without repeats and without gaps, after any changes between", () => {
    const step = fc.oneof(
      fc.record({ add: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ remove: fc.nat() }),
      fc.constant("refresh" as const),
      fc.constant("more" as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let list = rowsOf(10, 9, 8, 7, 6, 5, 4, 3, 2, 1);
        let newest = 10;
        let shown = onlyFirst(pageOf(list));
        for (const one of steps) {
          if (one === "refresh") shown = withFirst(shown, pageOf(list), idOf);
          else if (one === "more") {
            if (shown.next !== null) shown = withNext(shown, pageOf(list, shown.next), idOf);
          } else if ("add" in one) {
            for (let at = 0; at < one.add; at += 1) {
              newest += 1;
              list = [...rowsOf(newest), ...list];
            }
          } else if (list.length > 0) {
            const at = one.remove % list.length;
            list = list.filter((_, index) => index !== at);
          }
          const ids = idsOf(shown);
          expect(ids).to.deep.equal([...new Set(ids)].sort((a, b) => b - a));
          // Between the first and the last shown row, each row of the list is shown.
          const between = list
            .map(({ id }) => Number(id))
            .filter((id) => id <= (ids[0] ?? 0) && id >= (ids.at(-1) ?? 0));
          expect(ids).to.include.members(between);
        }
      }),
    );
  });
});
