import { expect } from "chai";
import fc from "fast-check";
import { csvPage } from "../../../gateway/lists/csv-page.ts";
import { createCursors } from "../../../gateway/lists/cursor.ts";
import { formatCursorPayload, parseCursorPayload } from "../../../gateway/lists/cursor-payload.ts";
import { readPageCursor } from "../../../gateway/lists/page-cursor.ts";
import { resolveTimeRange } from "../../../gateway/lists/time-range.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { parseInstant } from "../../../services/shared/core/rfc3339.ts";

const DAY_MS = 86_400_000;
const SPAN_MS = 92 * DAY_MS;
const NOW = "2026-11-21T12:00:00.000Z";

describe("the time range of a list", () => {
  const at = (text: string | undefined) => parseInstant(text ?? "");
  const resolve = (after?: string, before?: string, now = NOW) =>
    resolveTimeRange(
      { createdAfterMs: at(after), createdBeforeMs: at(before) },
      at(now) as number,
      SPAN_MS,
    );
  const shown = (resolved: ReturnType<typeof resolveTimeRange>) =>
    "range" in resolved
      ? [resolved.range.afterMs, resolved.range.beforeMs].map((ms) => new Date(ms).toISOString())
      : resolved.faults.map(({ field, code }) => `${field} ${code}`);

  for (const [what, after, before, wanted] of [
    ["no bound: the last 7 days", undefined, undefined, ["2026-11-14T12:00:00.000Z", NOW]],
    [
      "only created_before: the 7 days before it",
      undefined,
      "2026-10-10T00:00:00Z",
      ["2026-10-03T00:00:00.000Z", "2026-10-10T00:00:00.000Z"],
    ],
    [
      "only created_after: from then to now",
      "2026-11-01T00:00:00Z",
      undefined,
      ["2026-11-01T00:00:00.000Z", NOW],
    ],
    [
      "both",
      "2026-11-01T00:00:00+01:00",
      "2026-11-02T00:00:00Z",
      ["2026-10-31T23:00:00.000Z", "2026-11-02T00:00:00.000Z"],
    ],
    ["92 days fit", "2026-08-21T12:00:00Z", NOW, ["2026-08-21T12:00:00.000Z", NOW]],
    ["more than 92 days", "2026-08-21T11:59:59.999Z", NOW, ["created_before range_too_large"]],
    [
      "92 days to now, sent a moment ago",
      "2026-08-21T11:59:59Z",
      undefined,
      ["2026-08-21T11:59:59.000Z", NOW],
    ],
    [
      "more than 92 days to now",
      "2026-08-21T11:59:58.999Z",
      undefined,
      ["created_before range_too_large"],
    ],
    [
      "12 months ago is the oldest start",
      "2025-11-21T12:00:00Z",
      "2025-12-01T00:00:00Z",
      ["2025-11-21T12:00:00.000Z", "2025-12-01T00:00:00.000Z"],
    ],
    [
      "a start before that",
      "2025-11-21T11:59:58.999Z",
      "2025-12-01T00:00:00Z",
      ["created_after out_of_range"],
    ],
    [
      "everything wrong at once",
      "2024-01-01T00:00:00Z",
      undefined,
      ["created_after out_of_range", "created_before range_too_large"],
    ],
    [
      "an end before its start",
      "2026-11-02T00:00:00Z",
      "2026-11-01T00:00:00Z",
      ["created_before out_of_range"],
    ],
    ["an empty range", NOW, NOW, [NOW, NOW]],
  ] as const) {
    it(`${what}`, () => {
      expect(shown(resolve(after, before))).to.deep.equal(wanted);
    });
  }

  it("12 months before 29 February is 28 February", () => {
    const resolved = resolve(
      "2027-02-28T10:00:00Z",
      "2027-03-01T00:00:00Z",
      "2028-02-29T10:00:00Z",
    );
    expect(resolved).to.have.property("range");
  });
});

describe("cursors", () => {
  const cursors = createCursors("key one");

  it("are read only with the binding they were issued for", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 60 }),
        fc.string({ minLength: 1, maxLength: 60 }),
        (binding, text) => {
          const position = Buffer.from(text, "utf8").toString("utf8");
          const cursor = cursors.issue(binding, position);
          expect(cursors.read(binding, cursor)).to.equal(position);
          expect(cursors.read(`${binding}x`, cursor)).to.equal(undefined);
          expect(createCursors("key two").read(binding, cursor)).to.equal(undefined);
        },
      ),
    );
  });

  it("refuse every change of a single character", () => {
    const cursor = cursors.issue("filters", "position");
    for (let at = 0; at < cursor.length; at += 1) {
      const other = cursor[at] === "A" ? "B" : "A";
      const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
      expect(cursors.read("filters", changed), changed).to.equal(undefined);
    }
  });

  it("refuse any other text", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        expect(cursors.read("filters", text)).to.equal(undefined);
      }),
    );
  });

  it("of messages are at most 256 characters, and carry the time range", () => {
    const range = { afterMs: 0, beforeMs: 8.64e15 };
    const position = { range, beforeId: newId("message") };
    expect(parseCursorPayload(formatCursorPayload(position))).to.deep.equal(position);
    expect(cursors.issue("x".repeat(2000), formatCursorPayload(position)).length).to.be.at.most(
      256,
    );
  });

  it("a payload that was never written is refused", () => {
    for (const text of [
      "",
      "a.b",
      "1.2.msg_1",
      `1.2.${newId("message")}.3`,
      `..${newId("message")}`,
    ]) {
      expect(parseCursorPayload(text), text).to.equal(undefined);
    }
  });
});

describe("pages of a list", () => {
  const cursors = createCursors("a key of at least 16 characters");
  const isEntry = (text: string) => /^\d+$/.test(text);
  const read = (cursor: string | undefined, filters: readonly unknown[] = ["ten_1", ["sent"]]) =>
    readPageCursor(cursors, { list: "rows", filters, cursor, isEntry });
  const codes = (cursor: string | undefined, filters?: readonly unknown[]) =>
    read(cursor, filters).faults.map(({ field, code }) => `${field} ${code}`);

  it("start after the last entry of the page before", () => {
    const first = read(undefined);
    expect(first.after).to.equal("");
    const next = first.next("41") ?? "";
    expect(read(next)).to.include({ after: "41" });
    expect(codes(next)).to.deep.equal([]);
  });

  it("have no next page without a last entry", () => {
    expect([read(undefined).next(undefined), read(undefined).next("")]).to.deep.equal([null, null]);
  });

  it("refuse a cursor of other filters, and one that names no entry", () => {
    const next = read(undefined).next("41") ?? "";
    const wrong = ["cursor invalid_value"];
    expect(codes(next, ["ten_2", ["sent"]])).to.deep.equal(wrong);
    expect(codes(read(undefined).next("msg_1") ?? "")).to.deep.equal(wrong);
    expect(codes("41")).to.deep.equal(wrong);
    expect(read("41").after).to.equal("");
  });

  it("as CSV link to the next page of the same query", () => {
    const { headers } = csvPage("to\n", "c2", "/v1/rows", "limit=2&cursor=c1");
    expect(headers?.Link).to.equal('</v1/rows?limit=2&cursor=c2>; rel="next"');
    expect(csvPage("to\n", null, "/v1/rows", "limit=2").headers).to.equal(undefined);
  });
});
