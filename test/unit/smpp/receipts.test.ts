import { expect } from "chai";
import fc from "fast-check";
import { decodePdu, encodePdu } from "../../../services/shared/smpp/codec.ts";
import type { PduBody, PduOf } from "../../../services/shared/smpp/pdu.ts";
import { parseReceiptDate } from "../../../services/shared/smpp/receipt-dates.ts";
import {
  formatReceipt,
  parseReceipt,
  type Receipt,
  type ReceiptOptions,
} from "../../../services/shared/smpp/receipts.ts";
import type { Tlvs } from "../../../services/shared/smpp/tlvs.ts";

const ESM_RECEIPT = 0x04;

function deliver(body: Partial<PduBody<"deliver_sm">>, tlvs: Tlvs = {}): PduOf<"deliver_sm"> {
  const octets = encodePdu({
    command: "deliver_sm",
    sequence: 1,
    body: { esmClass: ESM_RECEIPT, sourceAddr: "2348031234567", destinationAddr: "ACME", ...body },
    tlvs,
  });
  return decodePdu(octets, 0, octets.length) as PduOf<"deliver_sm">;
}

function ofText(text: string, options?: ReceiptOptions): Receipt | undefined {
  return parseReceipt(deliver({ shortMessage: Buffer.from(text, "latin1") }), options);
}

describe("parseReceipt", () => {
  it("reads the text of SMPP 3.4 appendix B", () => {
    const receipt = ofText(
      "id:1234567890 sub:001 dlvrd:001 submit date:2611211230 done date:2611211231 " +
        "stat:DELIVRD err:000 text:Hello",
    );
    expect(receipt).to.deep.include({
      messageId: "1234567890",
      state: "delivered",
      rawState: "DELIVRD",
      errorCode: "000",
      submittedAt: new Date("2026-11-21T12:30:00Z"),
      doneAt: new Date("2026-11-21T12:31:00Z"),
      recipient: "2348031234567",
      sender: "ACME",
    });
  });

  const TEXTS: [string, string, Partial<Receipt>][] = [
    [
      "without sub and dlvrd",
      "id:a1 submit date:2611211230 done date:2611211231 stat:UNDELIV err:1",
      { messageId: "a1", state: "undeliverable", errorCode: "1" },
    ],
    [
      "with only id and stat",
      "id:a1 stat:EXPIRED",
      { messageId: "a1", state: "expired", errorCode: undefined, doneAt: undefined },
    ],
    [
      "in another order",
      "stat:REJECTD err:0x45 id:a1",
      { messageId: "a1", state: "rejected", errorCode: "0x45" },
    ],
    [
      "with upper-case names",
      "ID:A1 STAT:delivrd ERR:000",
      { messageId: "A1", state: "delivered" },
    ],
    ["with an alphanumeric err", "id:a1 stat:UNDELIV err:E2F", { errorCode: "E2F" }],
    [
      "with an empty id and an empty stat",
      "id: sub:001 dlvrd:001 submit date:2611211230 stat: err:045 text:",
      { messageId: undefined, rawState: "", errorCode: "045" },
    ],
    ["with zeros for an id", "id:0000000000 stat:DELIVRD", { messageId: undefined }],
    ["with a zero octet at its end", "id:a1 stat:DELIVRD\0", { state: "delivered" }],
    [
      "with zero octets between fields",
      "id:a1\0stat:DELIVRD\0",
      { messageId: "a1", state: "delivered" },
    ],
    ["with a colon in its id", "id:smsc:17 stat:DELIVRD", { messageId: "smsc:17" }],
    ["with an empty err", "id:a1 stat:DELIVRD err: text:", { errorCode: undefined }],
    [
      "with an id of letters and dashes",
      "id:c449ab9744f47b6af1879e49e75e4f40-1 stat:DELIVRD",
      { messageId: "c449ab9744f47b6af1879e49e75e4f40-1" },
    ],
    [
      "with dates joined by underscores",
      "id:a1 submit_date:2611211230 done_date:20261121123158 stat:DELIVRD",
      { submittedAt: new Date("2026-11-21T12:30:00Z"), doneAt: new Date("2026-11-21T12:31:58Z") },
    ],
    ["with words spelt out", "id:a1 stat:DELIVERED", { state: "delivered" }],
    ["with an unknown state", "id:a1 stat:PURGED", { state: "unknown", rawState: "PURGED" }],
    [
      "with a customer's text in the form of fields",
      "id:a1 stat:UNDELIV err:005 text:id:zz stat:DELIVRD err:000",
      { messageId: "a1", state: "undeliverable", errorCode: "005" },
    ],
    [
      "separated by commas",
      "id:a1,sub:001,dlvrd:001,stat:DELIVRD,err:000",
      { messageId: "a1", state: "delivered" },
    ],
    ["with nothing readable", "message was delivered", { messageId: undefined, state: "unknown" }],
  ];
  for (const [name, text, expected] of TEXTS) {
    it(`reads a text ${name}`, () => {
      expect(ofText(text)).to.deep.include(expected);
    });
  }

  it("the optional parameters have priority over the text", () => {
    const pdu = deliver(
      { shortMessage: Buffer.from("id:text stat:UNDELIV err:007") },
      { receiptedMessageId: "tlv", messageState: 2, networkErrorCode: Buffer.from([3, 0, 27]) },
    );
    expect(parseReceipt(pdu)).to.deep.include({
      messageId: "tlv",
      state: "delivered",
      errorCode: "007",
      networkError: { type: 3, code: 27 },
    });
  });

  it("an id in the text that differs from the optional parameter is kept as textId", () => {
    const ofBoth = (id: string) =>
      parseReceipt(
        deliver(
          { shortMessage: Buffer.from(`id:${id} stat:DELIVRD`) },
          { receiptedMessageId: "tlv", messageState: 2 },
        ),
      );
    expect(ofBoth("text")).to.deep.include({ messageId: "tlv", textId: "text" });
    expect(ofBoth("tlv")).to.deep.include({ messageId: "tlv", textId: undefined });
  });

  const ERRORS = [
    ["err:000", 27, "27"],
    ["err:0", 27, "27"],
    ["err:000", 0, "0"],
    ["err:000", undefined, "000"],
    ["err:0A0", 27, "0A0"],
    ["", 27, "27"],
  ] as const;
  for (const [err, network, expected] of ERRORS) {
    it(`"${err}" beside a network error of ${network ?? "nothing"} is error ${expected}`, () => {
      const tlvs = network === undefined ? {} : { networkErrorCode: Buffer.from([3, 0, network]) };
      const pdu = deliver({ shortMessage: Buffer.from(`id:a1 stat:UNDELIV ${err}`) }, tlvs);
      expect(parseReceipt(pdu)?.errorCode).to.equal(expected);
    });
  }

  it("zeros in the optional parameter count as no id, as in the text", () => {
    const pdu = deliver(
      { shortMessage: Buffer.from("id:a1 stat:DELIVRD") },
      { receiptedMessageId: "0000", messageState: 2 },
    );
    expect(parseReceipt(pdu)).to.deep.include({ messageId: "a1" });
    const bare = deliver({}, { receiptedMessageId: "0", messageState: 2 });
    expect(parseReceipt(bare)).to.deep.include({ messageId: undefined });
  });

  it("optional parameters alone make a receipt, even when esm_class does not mark it", () => {
    const pdu = deliver({ esmClass: 0 }, { receiptedMessageId: "x", messageState: 5 });
    expect(parseReceipt(pdu)).to.deep.include({ messageId: "x", state: "undeliverable" });
  });

  it("reads a text in message_payload and a text in UCS-2", () => {
    const text = "id:a1 stat:DELIVRD err:000";
    const payload = deliver({}, { messagePayload: Buffer.from(text) });
    const wide = deliver({ dataCoding: 8, shortMessage: Buffer.from(text, "utf16le").swap16() });
    for (const pdu of [payload, wide]) {
      expect(parseReceipt(pdu)).to.deep.include({ messageId: "a1", state: "delivered" });
    }
  });

  it("a zero octet before the text hides neither the text nor the parameters", () => {
    const text = "id:a1 stat:DELIVRD err:000 text:x";
    const tlv = Buffer.from("0427000102", "hex");
    const written = encodePdu({
      command: "deliver_sm",
      sequence: 1,
      body: { esmClass: ESM_RECEIPT, shortMessage: Buffer.from(`\0${text}`) },
    });
    const octets = Buffer.concat([written, tlv]);
    octets.writeUInt32BE(octets.length, 0);
    const lengthAt = octets.indexOf(text) - 2;
    octets[lengthAt] = text.length;
    const pdu = decodePdu(octets, 0, octets.length) as PduOf<"deliver_sm">;
    expect(parseReceipt(pdu)).to.deep.include({ messageId: "a1", rawState: "DELIVRD" });
    expect(pdu.tlvs.messageState).to.equal(2);
  });

  it("the text alone makes no receipt unless the option allows it", () => {
    const pdu = deliver({ esmClass: 0, shortMessage: Buffer.from("id:a1 stat:DELIVRD err:000") });
    expect(parseReceipt(pdu)).to.equal(undefined);
    const unmarked = parseReceipt(pdu, { isTextEnough: true });
    expect(unmarked).to.deep.include({ messageId: "a1", isUnmarked: true });
    expect(ofText("id:a1 stat:DELIVRD", { isTextEnough: true })?.isUnmarked).to.equal(false);
  });

  for (const esmClass of [0x08, 0x10, 0x18]) {
    it(`takes esm_class 0x${esmClass.toString(16)} (said by the user's handset) for no receipt`, () => {
      const pdu = deliver({ esmClass, shortMessage: Buffer.from("id:a1 stat:DELIVRD") });
      expect(parseReceipt(pdu)).to.equal(undefined);
    });
  }

  it("reads every receipt that formatReceipt writes", () => {
    const word = fc.constantFrom("DELIVRD", "EXPIRED", "UNDELIV", "REJECTD", "DELETED");
    // Zeros alone are what carriers that give no ids write.
    const id = fc.stringMatching(/^[0-9a-zA-Z-]{1,60}$/).filter((one) => !/^0+$/.test(one));
    const text = fc.stringMatching(/^[ -~]{0,40}$/);
    fc.assert(
      fc.property(
        id,
        word,
        fc.stringMatching(/^[0-9A-F]{3}$/),
        text,
        (messageId, stat, errorCode, said) => {
          const submittedAt = new Date("2026-11-21T12:30:00Z");
          const written = formatReceipt({
            messageId,
            word: stat,
            errorCode,
            submittedAt,
            doneAt: submittedAt,
            text: said,
          });
          expect(ofText(written)).to.deep.include({
            messageId,
            rawState: stat,
            errorCode,
            submittedAt,
          });
        },
      ),
    );
  });

  it("parsing never throws for any text", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 254 }),
        fc.nat(255),
        fc.nat(255),
        (octets, esmClass, dataCoding) => {
          parseReceipt(deliver({ esmClass, dataCoding, shortMessage: Buffer.from(octets) }), {
            isTextEnough: true,
          });
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("parsing takes time linear in the length of the text", () => {
    const payload = Buffer.from(`id${" ".repeat(60_000)}stat`.padEnd(65_000, "submit "));
    // The least of three: the machine may have had something else to do.
    const times = Array.from({ length: 3 }, () => {
      const startedAtMs = performance.now();
      parseReceipt(deliver({}, { messagePayload: payload }));
      return performance.now() - startedAtMs;
    });
    expect(Math.min(...times)).to.be.below(200);
  });
});

describe("parseReceiptDate", () => {
  const DATES: [string, string | undefined][] = [
    ["2611211230", "2026-11-21T12:30:00.000Z"],
    ["261121123045", "2026-11-21T12:30:45.000Z"],
    ["202611211230", "2026-11-21T12:30:00.000Z"],
    ["20261121123045", "2026-11-21T12:30:45.000Z"],
    ["26112112304", "2026-11-21T12:30:00.000Z"],
    ["2611211230457", "2026-11-21T12:30:45.000Z"],
    ["261121123045004+", "2026-11-21T12:30:45.000Z"],
    ["2602301230", undefined],
    ["2613011230", undefined],
    ["2611212460", undefined],
    ["261121", undefined],
    ["", undefined],
    ["yesterday", undefined],
  ];
  for (const [text, expected] of DATES) {
    it(`reads ${JSON.stringify(text)} as ${expected ?? "no date"}`, () => {
      expect(parseReceiptDate(text)?.toISOString()).to.equal(expected);
    });
  }
  it("the offset of the carrier's clock is subtracted", () => {
    expect(parseReceiptDate("2611211330", 60)?.toISOString()).to.equal("2026-11-21T12:30:00.000Z");
  });
});
