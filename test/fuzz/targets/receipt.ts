import assert from "node:assert/strict";
import { decodePdu, encodePdu } from "../../../services/shared/smpp/codec.ts";
import type { PduOf } from "../../../services/shared/smpp/pdu.ts";
import { parseReceipt, type Receipt } from "../../../services/shared/smpp/receipts.ts";
import type { FuzzTarget } from "../run-target.ts";

const SEEDS = [
  "id:1234567890 sub:001 dlvrd:001 submit date:2611211230 done date:2611211231 " +
    "stat:DELIVRD err:000 text:Hello",
  "id:a1 stat:UNDELIV err:005 text:id:zz stat:DELIVRD err:000",
  "stat:REJECTD err:0x45 id:a1",
  "ID:A1,STAT:delivrd,ERR:000",
  "id:c449ab9744f47b6af1879e49e75e4f40-1 submit_date:20261121123158 stat=EXPIRED",
  "\0id:1 stat:ACCEPTD",
];
const WORDS = ["DELIVRD", "UNDELIV", "EXPIRED", "REJECTD", "ENROUTE", "PURGED", "", "é"];
const NAMES = ["id", "stat", "status", "err", "error", "sub", "submit date", "done_date", "text"];

const STATES = new Set([
  ...["enroute", "delivered", "expired", "deleted"],
  ...["undeliverable", "accepted", "unknown", "rejected"],
]);

/** The most bytes of a text that the parser reads. */
const TEXT_BYTES_MAX = 1024;

/** The texts of delivery receipts, which every maker of SMSCs writes in a way of its own. */
export const receiptTarget: FuzzTarget = {
  name: "receipt",
  open: async () => ({
    seeds: SEEDS.map((text) => Buffer.from(text, "latin1")),
    generate(random) {
      const fields = Array.from({ length: 1 + random.below(8) }, () => {
        const value = random.oneIn(2)
          ? random.pick(WORDS)
          : String(random.below(10 ** (1 + random.below(12))));
        return `${random.pick(NAMES)}${random.pick([":", "=", " : ", ""])}${value}`;
      });
      return Buffer.from(fields.join(random.pick([" ", ",", ";", "|", "\r\n"])), "latin1");
    },
    check(input) {
      for (const options of [{}, { isTextEnough: true }, { smscDefault: "gsm7" as const }]) {
        for (const esmClass of [0x00, 0x04, 0x20, 0x44]) {
          for (const dataCoding of [0, 3, 8]) {
            check(parseReceipt(deliver(input, esmClass, dataCoding), options));
          }
        }
      }
      ignoresTheCustomersWords(input);
    },
    close: async () => undefined,
  }),
};

function check(receipt: Receipt | undefined): void {
  if (receipt === undefined) return;
  assert.ok(STATES.has(receipt.state), `state ${receipt.state}`);
  if (receipt.messageId !== undefined) assert.match(receipt.messageId, /^[^\s;,|]+$/);
  if (receipt.errorCode !== undefined) assert.match(receipt.errorCode, /^[0-9a-z.-]{1,20}$/i);
  for (const date of [receipt.submittedAt, receipt.doneAt]) {
    assert.ok(date === undefined || !Number.isNaN(date.getTime()), "a date is a date");
  }
}

/** The part after `text:` comes from the message's sender and decides nothing. */
function ignoresTheCustomersWords(input: Buffer): void {
  const before = input.subarray(0, TEXT_BYTES_MAX / 2);
  // Read as two octets a character, the words below would be others.
  if (before[0] === 0 && before[2] === 0) return;
  const read = (words: string) =>
    parseReceipt(deliver(Buffer.concat([before, Buffer.from(` text:${words}`)]), 0x04, 3));
  assert.deepEqual(read("id:zz stat:DELIVRD err:999"), read(""));
}

function deliver(text: Buffer, esmClass: number, dataCoding: number): PduOf<"deliver_sm"> {
  const octets = encodePdu({
    command: "deliver_sm",
    sequence: 1,
    body: { esmClass, dataCoding, sourceAddr: "2348031234567", destinationAddr: "ACME" },
    tlvs: { messagePayload: text },
  });
  return decodePdu(octets, 0, octets.length) as PduOf<"deliver_sm">;
}
