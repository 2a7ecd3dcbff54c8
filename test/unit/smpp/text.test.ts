import { expect } from "chai";
import fc from "fast-check";
import { splitText } from "../../../services/shared/core/segments.ts";
import { recipientAddress, senderAddress } from "../../../services/shared/smpp/addresses.ts";
import { charsetOf, decodeText, encodeText } from "../../../services/shared/smpp/charset.ts";
import { EncodeError } from "../../../services/shared/smpp/errors.ts";
import {
  canonicalMessageId,
  messageIdCandidates,
} from "../../../services/shared/smpp/message-ids.ts";
import { type MessageToSplit, splitMessage } from "../../../services/shared/smpp/message-parts.ts";
import {
  concatenationHeader,
  readUserData,
} from "../../../services/shared/smpp/user-data-header.ts";
import alphabet from "../../vectors/gsm7-alphabet.json" with { type: "json" };

describe("SMPP character sets", () => {
  it("each charset decodes its own encoding and refuses a text outside it", () => {
    for (const charset of ["gsm7", "latin1", "ascii", "ucs2"] as const) {
      fc.assert(
        fc.property(fc.string({ unit: "binary" }), (text) => {
          const octets = encodeText(text, charset);
          if (octets !== undefined) expect(decodeText(octets, charset)).to.equal(text);
          else expect(charset).to.not.equal("ucs2");
        }),
      );
    }
  });

  it("each single-octet charset keeps every octet", () => {
    for (const [charset, highest] of [
      ["latin1", 0xff],
      ["ascii", 0x7f],
    ] as const) {
      const text = Array.from({ length: highest + 1 }, (_, code) => String.fromCharCode(code)).join(
        "",
      );
      const octets = encodeText(text, charset);
      expect(octets && [...octets], charset).to.deep.equal(
        [...text].map((one) => one.charCodeAt(0)),
      );
      expect(octets && decodeText(octets, charset), charset).to.equal(text);
      expect(encodeText(String.fromCharCode(highest + 1), charset), charset).to.equal(undefined);
    }
  });

  it("writes extension characters as an escape and a septet", () => {
    expect(encodeText("€[x]", "gsm7")?.toString("hex")).to.equal("1b651b3c781b3e");
  });

  it("writes the default alphabet by the codes of 3GPP TS 23.038", () => {
    expect(encodeText("@£$¥èéùìòÇ\nØø\rÅå", "gsm7")?.toString("hex")).to.equal(
      "000102030405060708090a0b0c0d0e0f",
    );
    expect(encodeText("¡AZ§¿az à", "gsm7")?.toString("hex")).to.equal("40415a5f60617a207f");
  });

  it("writes UCS-2 with the high octet first", () => {
    expect(encodeText("Aé😀", "ucs2")?.toString("hex")).to.equal("004100e9d83dde00");
  });

  const CODINGS: [number, string | undefined][] = [
    [0x00, "gsm7"],
    [0x01, "ascii"],
    [0x03, "latin1"],
    [0x04, undefined],
    [0x08, "ucs2"],
    [0x11, "gsm7"],
    [0x19, "ucs2"],
    [0xf1, "gsm7"],
    [0xf5, undefined],
  ];
  for (const [coding, charset] of CODINGS) {
    it(`reads data_coding 0x${coding.toString(16)} as ${charset ?? "binary"}`, () => {
      expect(charsetOf(coding, "gsm7")).to.equal(charset);
    });
  }

  for (const [hex, codePoint, name] of [...alphabet.default, ...alphabet.extension]) {
    it(`writes and reads U+${codePoint} ${name} as ${hex}`, () => {
      const character = String.fromCharCode(Number.parseInt(codePoint as string, 16));
      const octets = Buffer.from(hex as string, "hex");
      expect(encodeText(character, "gsm7")).to.deep.equal(octets);
      expect(decodeText(octets, "gsm7")).to.equal(character);
    });
  }
});

describe("splitMessage", () => {
  const base: Omit<MessageToSplit, "segments"> = { encoding: "gsm7", reference: 0x1234 };

  it("one segment has neither header nor parameters", () => {
    const [part, ...rest] = splitMessage({ ...base, segments: ["Hello €"] });
    expect(rest).to.have.length(0);
    expect(part).to.deep.equal({
      esmClass: 0,
      dataCoding: 0,
      shortMessage: Buffer.from("48656c6c6f201b65", "hex"),
      tlvs: undefined,
    });
  });

  it("numbers segments by an 8-bit header", () => {
    const parts = splitMessage({ ...base, segments: ["one", "two"] });
    expect(parts.map(({ esmClass }) => esmClass)).to.deep.equal([0x40, 0x40]);
    expect(parts[1]?.shortMessage.toString("hex")).to.equal("050003340202" + "74776f");
  });

  it("numbers segments by a 16-bit header", () => {
    const parts = splitMessage({ ...base, concatenator: "udh16", segments: ["one", "two"] });
    expect(parts[0]?.shortMessage.toString("hex")).to.equal("06080412340201" + "6f6e65");
  });

  it("numbers segments by SAR parameters", () => {
    const parts = splitMessage({ ...base, concatenator: "sar", segments: ["one", "two"] });
    expect(parts[1]).to.deep.include({
      esmClass: 0,
      tlvs: { sarMsgRefNum: 0x1234, sarTotalSegments: 2, sarSegmentSeqnum: 2 },
    });
  });

  it("a long message is submitted whole as message_payload", () => {
    const parts = splitMessage({
      ...base,
      concatenator: "payload",
      segments: ["a".repeat(153), "b".repeat(8)],
    });
    expect(parts).to.have.length(1);
    expect(parts[0]?.shortMessage).to.have.length(0);
    expect(parts[0]?.tlvs?.messagePayload?.toString()).to.equal("a".repeat(153) + "b".repeat(8));
  });

  for (const { encoding, units, isShort } of [
    { encoding: "gsm7", units: 160, isShort: true },
    { encoding: "gsm7", units: 161, isShort: false },
    { encoding: "ucs2", units: 70, isShort: true },
    // One segment as GSM 7-bit text, which the connector's charset makes two.
    { encoding: "ucs2", units: 71, isShort: false },
  ] as const) {
    it(`${units} units of ${encoding} are ${isShort ? "a short message" : "a message_payload"}`, () => {
      const segments = ["a".repeat(units)];
      const [part] = splitMessage({ ...base, encoding, concatenator: "payload", segments });
      expect(part?.shortMessage.length).to.equal(
        isShort ? units * (encoding === "ucs2" ? 2 : 1) : 0,
      );
      expect(part?.tlvs?.messagePayload === undefined).to.equal(isShort);
    });
  }

  it("text outside the connector's charset is sent as UCS-2 unchanged", () => {
    const body = `Δ${"x".repeat(99)}`;
    const parts = splitMessage({ ...base, charset: "latin1", segments: [body] });
    expect(parts.map(({ dataCoding }) => dataCoding)).to.deep.equal([8, 8]);
    const texts = parts.map(({ shortMessage }) =>
      decodeText(readUserData(shortMessage).octets, "ucs2"),
    );
    expect(texts.join("")).to.equal(body);
  });

  it("text that is split again as UCS-2 leaves room for the longer header", () => {
    const { encoding, segments } = splitText(`€${"x".repeat(240)}`);
    expect(encoding).to.equal("gsm7");
    const wanted = { segments, encoding, charset: "latin1", concatenator: "udh16" } as const;
    const parts = splitMessage({ ...wanted, reference: 7 });
    expect(parts.map(({ shortMessage }) => shortMessage.length)).to.deep.equal([139, 139, 139, 93]);
  });

  for (const charset of ["latin1", "ascii"] as const) {
    it(`counts characters that the SMSC escapes as two, in ${charset} too`, () => {
      const { encoding, segments } = splitText(`${"a".repeat(153)}${"[".repeat(100)}`);
      expect(segments).to.have.length(3);
      const wanted = { segments, encoding, charset, concatenator: "udh16" } as const;
      const parts = splitMessage({ ...wanted, reference: 7 });
      expect(parts.map(({ shortMessage }) => shortMessage.length - 7)).to.deep.equal([152, 76, 25]);
    });
  }

  it("the connector's data_coding applies to its own charset", () => {
    const [part] = splitMessage({ ...base, dataCoding: 0xf1, segments: ["hi"] });
    expect(part?.dataCoding).to.equal(0xf1);
  });

  it("every way to concatenate carries any body in parts of at most 140 octets", () => {
    const body = fc.string({ unit: "binary", minLength: 1, maxLength: 700 });
    const means = fc.constantFrom("udh8" as const, "udh16" as const, "sar" as const);
    fc.assert(
      fc.property(
        body,
        means,
        fc.constantFrom("gsm7" as const, "latin1" as const),
        (text, concatenator, charset) => {
          const { encoding, segments } = splitText(text);
          const parts = splitMessage({ segments, encoding, charset, concatenator, reference: 7 });
          const wire = parts[0]?.dataCoding === 8 ? "ucs2" : charset;
          let whole = "";
          for (const { esmClass, shortMessage } of parts) {
            const hasHeader = (esmClass & 0x40) !== 0;
            const headerBytes = hasHeader
              ? 1 + (shortMessage[0] as number)
              : concatenator === "sar" && parts.length > 1
                ? 6
                : 0;
            const octets = hasHeader ? shortMessage.subarray(headerBytes) : shortMessage;
            const bits =
              wire === "gsm7"
                ? octets.length * 7
                : wire === "ucs2"
                  ? octets.length * 8
                  : octets.length * 7;
            expect(Math.ceil((headerBytes * 8) / 7) * 7 + bits).to.be.at.most(1120);
            whole += decodeText(octets, wire);
          }
          expect(whole).to.equal(text);
        },
      ),
    );
  });

  it("more than 255 parts are refused", () => {
    const segments = Array.from({ length: 256 }, () => "a");
    expect(() => splitMessage({ ...base, segments })).to.throw(EncodeError);
  });

  it("the header reads back as written, and other octets never throw", () => {
    const part = fc.record({ reference: fc.nat(65535), total: fc.nat(255), sequence: fc.nat(255) });
    fc.assert(
      fc.property(part, fc.uint8Array({ maxLength: 40 }), (place, octets) => {
        const message = Buffer.concat([concatenationHeader(place, 16), octets]);
        expect(readUserData(message)).to.deep.equal({
          concatenation: place,
          octets: Buffer.from(octets),
        });
        readUserData(Buffer.from(octets));
      }),
    );
  });
});

describe("addresses", () => {
  const SENDERS: [string, number, number, string][] = [
    ["ACME", 5, 0, "ACME"],
    ["Bank 24", 5, 0, "Bank 24"],
    ["32120", 3, 0, "32120"],
    ["2348031234567", 1, 1, "2348031234567"],
    ["+2348031234567", 1, 1, "2348031234567"],
    ["08031234567", 2, 1, "08031234567"],
  ];
  for (const [sender, ton, npi, address] of SENDERS) {
    it(`writes the sender ${sender} with TON ${ton} and NPI ${npi}`, () => {
      expect(senderAddress(sender)).to.deep.equal({ ton, npi, address });
    });
  }
  it("a connector's settings override type, plan and plus sign", () => {
    expect(recipientAddress("+2348031234567")).to.deep.equal({
      ton: 1,
      npi: 1,
      address: "2348031234567",
    });
    expect(recipientAddress("+2348031234567", { ton: 0, npi: 0, hasPlus: true })).to.deep.equal({
      ton: 0,
      npi: 0,
      address: "+2348031234567",
    });
    expect(senderAddress("ACME", { ton: 0, npi: 9 })).to.deep.equal({
      ton: 0,
      npi: 9,
      address: "ACME",
    });
  });
});

describe("message ids", () => {
  const SAME: [
    string,
    string,
    "auto" | "text" | "hex" | "decimal",
    "auto" | "text" | "hex" | "decimal",
  ][] = [
    ["00F3A1", "f3a1", "text", "text"],
    ["0x00f3a1", "F3A1", "hex", "hex"],
    ["f3a1", "62369", "hex", "decimal"],
    ["0062369", "F3A1", "decimal", "hex"],
    ["ABC-12", "abc-12", "auto", "auto"],
    ["f47d230e10e", "16801143513358", "auto", "auto"],
    ["16801143513358", "F47D230E10E", "auto", "auto"],
    ["0", "000", "auto", "auto"],
  ];
  for (const [submitted, receipted, submitForm, receiptForm] of SAME) {
    it(`finds ${submitted} (${submitForm}) by a receipt for ${receipted} (${receiptForm})`, () => {
      const kept = canonicalMessageId(submitted, submitForm);
      expect(messageIdCandidates(receipted, receiptForm)).to.include(kept);
    });
  }
  it("the notation as written is tried first", () => {
    expect(messageIdCandidates("123", "auto")[0]).to.equal("123");
    expect(messageIdCandidates("123", "auto")).to.deep.equal(["123", "7b", "291"]);
  });
  it("only the form auto tries another notation", () => {
    expect(messageIdCandidates("123", "text")).to.deep.equal(["123"]);
  });
});
