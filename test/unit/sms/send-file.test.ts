/** The requests and keys of a file. */
import { expect } from "chai";
import { chunksOf } from "../../../clients/cli/send/chunks.ts";
import { createRowReader, type SendRow } from "../../../clients/cli/send/rows.ts";
import { parseText } from "../../../clients/cli/send/text.ts";
import { AppError } from "../../../services/shared/core/errors.ts";

const SCOPE = { from: "Acme", trafficClass: undefined, word: undefined };
const BOUNDS = { items: 2, bytes: 1_000 };

const row = (line: number, to: string, body = "Hello"): SendRow => ({ line, item: { to, body } });
const FILE = [row(2, "08030000001"), row(3, "08030000002"), row(4, "08030000003")];

describe("the chunks of a file", () => {
  it("the same file gives the same keys, of the form that the API takes", () => {
    const keys = () => chunksOf(FILE, SCOPE, BOUNDS).map(({ key }) => key);
    expect(keys()).to.deep.equal(keys()).and.to.have.length(2);
    for (const key of keys()) expect(key).to.match(/^[A-Za-z0-9_-]{1,64}$/);
    expect(new Set(keys()).size).to.equal(2);
  });

  it("every row is in one chunk, in order, within both bounds", () => {
    const long = [row(2, "1", "x".repeat(600)), row(3, "2", "x".repeat(600)), row(4, "3")];
    const chunks = chunksOf(long, SCOPE, BOUNDS);
    expect(chunks.map(({ rows }) => rows.map(({ line }) => line))).to.deep.equal([[2], [3, 4]]);
    expect(chunksOf([], SCOPE, BOUNDS)).to.deep.equal([]);
  });

  it("another text, sender, class or word gives other keys", () => {
    const keyOf = (rows: readonly SendRow[], scope: Parameters<typeof chunksOf>[1]) =>
      chunksOf(rows, scope)[0]?.key;
    const keys = [
      keyOf(FILE, SCOPE),
      keyOf([row(2, "08030000001", "Bye")], SCOPE),
      keyOf(FILE, { ...SCOPE, from: "Other" }),
      keyOf(FILE, { ...SCOPE, trafficClass: "otp" }),
      keyOf(FILE, { ...SCOPE, word: "otp" }),
    ];
    expect(new Set(keys).size).to.equal(keys.length);
  });

  it("a line that moves keeps its key: the line is not sent", () => {
    const moved = FILE.map(({ line, item }) => ({ line: line + 7, item }));
    expect(chunksOf(moved, SCOPE).map(({ key }) => key)).to.deep.equal(
      chunksOf(FILE, SCOPE).map(({ key }) => key),
    );
  });
});

describe("the rows of a file", () => {
  const read = (body: string | undefined, ...rows: Record<string, string>[]) => {
    const text = body === undefined ? undefined : parseText(body);
    const reader = createRowReader({ text, reference: undefined });
    return rows.map((cells, at) => {
      const found = reader({ line: at + 2, cells: new Map(Object.entries(cells)) });
      return "item" in found ? found.item.body : found.code;
    });
  };

  it("fills placeholders; an empty cell rejects its row alone", () => {
    const rows = [
      { to: "08030000001", name: "Ada {{x}}" },
      { to: "08030000002", name: " " },
    ];
    expect(read("Hi {{ name }}!", ...rows)).to.deep.equal(["Hi Ada {{x}}!", "missing_variable"]);
  });

  it("a number counts once, in whatever form it is written", () => {
    const rows = ["08031234567", "+234 803 123 4567", "no number", "", "no number"];
    const cells = rows.map((to) => ({ to, body: "Hello" }));
    expect(read(undefined, ...cells)).to.deep.equal([
      ...["Hello", "duplicate_recipient", "Hello", "invalid_recipient", "duplicate_recipient"],
    ]);
  });

  it("an empty text and a wrong reference reject their row, which the API would not do", () => {
    const rows = [
      { to: "08030000001", body: "" },
      { to: "08030000002", body: "Hello", client_reference: "é" },
    ];
    expect(read(undefined, ...rows)).to.deep.equal(["empty_body", "invalid_format"]);
  });

  it("a missing column and stray braces refuse the file", () => {
    const to = "08030000001";
    expect(() => read("Hi {{name}}", { to })).to.throw(AppError, "no column name");
    expect(() => read(undefined, { to })).to.throw(AppError, "no column body");
    for (const body of ["Hi {{name}", "Hi {{}}", "Hi }}"]) {
      expect(() => parseText(body)).to.throw(AppError, "braces");
    }
  });
});
