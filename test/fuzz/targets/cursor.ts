import assert from "node:assert/strict";
import { createCursors } from "../../../gateway/lists/cursor.ts";
import { formatCursorPayload, parseCursorPayload } from "../../../gateway/lists/cursor-payload.ts";
import type { FuzzTarget } from "../run-target.ts";

// Fixed, so that an input that is kept means the same in every run.
const CURSORS = createCursors("a key of the fuzzer, which signs nothing else");
const IDS = ["msg_01JD8031234567ABCDEFGHJKMN", "msg_01JD8031234567ABCDEFGHJKMP"];
const BINDINGS = ['["messages","ten_1"]', '["messages","ten_2"]', '["deliveries","ten_1"]'];

const issued = BINDINGS.flatMap((binding) =>
  IDS.map((beforeId) => {
    const range = { afterMs: 1_795_000_000_000, beforeMs: 1_795_600_000_000 };
    return { binding, cursor: CURSORS.issue(binding, formatCursorPayload({ range, beforeId })) };
  }),
);

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=.";

/** List cursors: an altered or foreign cursor is rejected. */
export const cursorTarget: FuzzTarget = {
  name: "cursor",
  open: async () => ({
    seeds: issued.map(({ cursor }) => Buffer.from(cursor)),
    /** One character of a good one is another, or one bit of what it stands for. */
    generate(random) {
      const { cursor } = random.pick(issued);
      if (random.oneIn(2)) {
        const octets = Buffer.from(cursor, "base64url");
        const at = random.below(octets.length);
        octets[at] = (octets[at] ?? 0) ^ (1 << random.below(8));
        return Buffer.from(octets.toString("base64url"));
      }
      const at = random.below(cursor.length + 1);
      const rest = cursor.slice(at + random.below(2));
      return Buffer.from(`${cursor.slice(0, at)}${random.pick([...ALPHABET])}${rest}`);
    },
    check(input) {
      const text = input.toString("latin1");
      for (const binding of BINDINGS) {
        const isOurs = issued.some((one) => one.cursor === text && one.binding === binding);
        const position = CURSORS.read(binding, text);
        assert.equal(position !== undefined, isOurs, `read as a cursor of ${binding}`);
      }
      const position = parseCursorPayload(text);
      if (position !== undefined)
        assert.deepEqual(parseCursorPayload(formatCursorPayload(position)), position);
      if (text === "") return;
      const binding = BINDINGS[0] as string;
      assert.equal(CURSORS.read(binding, CURSORS.issue(binding, text)), text, "round trip");
    },
    close: async () => undefined,
  }),
};
