import { expect } from "chai";
import {
  type Candidate,
  chooseSubmissions,
} from "../../../services/carrier/domain/choose-submission.ts";
import type { IncomingReceipt } from "../../../services/carrier/domain/message.ts";
import { compareNumbers } from "../../../services/carrier/domain/same-number.ts";
import type { Submission } from "../../../services/carrier/domain/submission.ts";
import { incomingReceipt } from "../../support/carrier-messages.ts";

const NUMBER = "2348031234567";
const MINUTE = 60_000;
const CAME = 100 * MINUTE;

describe("the number in a receipt", () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [NUMBER, NUMBER, "same"],
    [`+${NUMBER}`, NUMBER, "same"],
    [`00${NUMBER}`, NUMBER, "same"],
    ["+234 803-123-4567", NUMBER, "same"],
    ["08031234567", NUMBER, "likely"],
    ["8031234567", NUMBER, "likely"],
    [`99${NUMBER}`, NUMBER, "likely"],
    ["541112345678", "5491112345678", "possible"],
    ["", NUMBER, "possible"],
    ["23480****567", NUMBER, "possible"],
    ["MTN", NUMBER, "possible"],
    ["34567", NUMBER, "possible"],
    ["2348031234568", NUMBER, "other"],
    ["2348041234567", NUMBER, "other"],
    ["08031234568", NUMBER, "other"],
    ["33612345678", NUMBER, "other"],
  ];
  for (const [written, recipient, expected] of cases) {
    it(`"${written}" fits the recipient ${recipient} as ${expected}`, () => {
      expect(compareNumbers(written, recipient)).to.equal(expected);
    });
  }
});

describe("the message of a receipt whose id has several submissions", () => {
  const receipt = (fields: Partial<IncomingReceipt> = {}) =>
    incomingReceipt({ occurredAtMs: CAME, to: NUMBER, ...fields });
  const candidate = (
    messageId: string,
    fields: Partial<Submission & Candidate> = {},
  ): Candidate => {
    const { isOpen = false, ...rest } = fields;
    const plain = {
      connectorId: "smsc",
      key: "k1",
      messageId,
      segment: 0,
      to: NUMBER,
      from: "demo",
    };
    return { submission: { ...plain, atMs: CAME - MINUTE, ...rest }, isOpen };
  };
  const chosen = (one: IncomingReceipt, ...byKey: Candidate[][]) =>
    chooseSubmissions(one, byKey, CAME)
      .map(({ messageId }) => messageId)
      .join(" ");

  const open = { isOpen: true };
  const cases: readonly (readonly [string, string, IncomingReceipt, Candidate[][]])[] = [
    [
      "the only one of its number",
      "a",
      receipt(),
      [[candidate("a"), candidate("b", { to: "2348037654321" })]],
    ],
    [
      "none when all have other numbers",
      "",
      receipt(),
      [[candidate("b", { to: "2348037654321" })]],
    ],
    [
      "the exact number before a national form",
      "b",
      receipt({ to: "8031234567" }),
      [[candidate("a"), candidate("b", { to: "8031234567" })]],
    ],
    [
      "none when a national form fits two numbers",
      "",
      receipt({ to: "08031234567" }),
      [[candidate("a"), candidate("b", { to: "338031234567" })]],
    ],
    [
      "none when a missing number fits two messages",
      "",
      receipt({ to: "" }),
      [[candidate("a"), candidate("b", { to: "2348037654321" })]],
    ],
    [
      "all parts of one message",
      "a a",
      receipt({ to: "" }),
      [[candidate("a", { segment: 1 }), candidate("a", { segment: 2 })]],
    ],
    [
      "the recipient of exchanged addresses",
      "a",
      receipt({ to: "demo", from: NUMBER }),
      [[candidate("b", { to: "2348037654321" }), candidate("a")]],
    ],
    [
      "another key's message when its number is the same",
      "b",
      receipt(),
      [[candidate("a", { to: "2348037654321" })], [candidate("b")]],
    ],
    [
      "no message of another key by a garbled number",
      "",
      receipt({ to: "MTN" }),
      [[], [candidate("b")]],
    ],
    [
      "no other number when only the text makes it a receipt",
      "",
      receipt({ to: "8031234567", isUnmarked: true }),
      [[candidate("a")]],
    ],
    [
      "the oldest open one",
      "a",
      receipt(),
      [[candidate("b", open), candidate("a", { ...open, atMs: CAME - 2 * MINUTE })]],
    ],
    [
      "an open one before an ended one",
      "b",
      receipt(),
      [[candidate("a"), candidate("b", { ...open, atMs: CAME - MINUTE })]],
    ],
    [
      "the newest when nothing is known of them",
      "b",
      receipt(),
      [[candidate("b"), candidate("a", { atMs: CAME - 20 * MINUTE })]],
    ],
    [
      "none that was submitted after the receipt came",
      "a",
      receipt(),
      [
        [
          candidate("a", { atMs: CAME - 50 * MINUTE }),
          candidate("b", { ...open, atMs: CAME + 2 * MINUTE }),
        ],
      ],
    ],
    [
      "the one whose submit the receipt's dates name",
      "a",
      receipt({ tookMs: 30 * MINUTE }),
      [
        [
          candidate("a", { atMs: CAME - 30 * MINUTE }),
          candidate("b", { ...open, atMs: CAME - 10 * MINUTE }),
        ],
      ],
    ],
  ];
  for (const [name, expected, one, byKey] of cases) {
    it(`is ${name}`, () => expect(chosen(one, ...byKey)).to.equal(expected));
  }
});
