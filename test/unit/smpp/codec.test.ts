import { createRequire } from "node:module";
import { expect } from "chai";
import fc from "fast-check";
import { decodePdu, encodePdu } from "../../../services/shared/smpp/codec.ts";
import { COMMAND_IDS, type CommandName } from "../../../services/shared/smpp/commands.ts";
import { EncodeError, PduError } from "../../../services/shared/smpp/errors.ts";
import type { OutgoingPdu, Pdu } from "../../../services/shared/smpp/pdu.ts";
import { PDU_FIELDS } from "../../../services/shared/smpp/pdu.ts";
import { TLV_FIELDS, type Tlvs } from "../../../services/shared/smpp/tlvs.ts";

type OtherPdu = Record<string, unknown> & { toBuffer(): Buffer };
const { PDU: NpmPdu } = createRequire(import.meta.url)("smpp") as {
  PDU: new (command: string | Buffer, options?: object) => OtherPdu;
};

const COMMANDS = Object.keys(COMMAND_IDS) as CommandName[];
const cstring = (bytesMax: number) =>
  fc.string({
    unit: fc.integer({ min: 1, max: 255 }).map((c) => String.fromCharCode(c)),
    maxLength: bytesMax - 1,
  });
const octets = (bytesMax: number) =>
  fc.uint8Array({ maxLength: bytesMax }).map((bytes) => Buffer.from(bytes));
const octet = fc.integer({ min: 0, max: 255 });
const address = fc.record({
  kind: fc.constant("address" as const),
  ton: octet,
  npi: octet,
  address: cstring(21),
});
const list = fc.record({ kind: fc.constant("list" as const), name: cstring(21) });
const failure = fc.record({ ton: octet, npi: octet, address: cstring(21), status: fc.nat() });

function fieldValue([, kind, bytesMax]: readonly [string, string, number?]): fc.Arbitrary<unknown> {
  if (kind === "int8") return octet;
  if (kind === "cstring") return cstring(bytesMax as number);
  if (kind === "octets") return octets(254);
  if (kind === "destinations")
    return fc.array(fc.oneof(address, list), { minLength: 1, maxLength: 9 });
  return fc.array(failure, { maxLength: 9 });
}

const bodyOf = (command: CommandName) =>
  fc.record(Object.fromEntries(PDU_FIELDS[command].map((field) => [field[0], fieldValue(field)])));

function tlvValue(kind: string, bytesMax: number): fc.Arbitrary<unknown> {
  if (kind === "cstring") return cstring(bytesMax);
  if (kind === "octets") return octets(Math.min(300, bytesMax));
  if (kind === "octetsList") return fc.array(octets(bytesMax), { minLength: 1, maxLength: 3 });
  if (kind === "flag") return fc.constant(true);
  const bits = Number(kind.slice(3));
  return fc.integer({ min: 0, max: 2 ** bits - 1 });
}

const tlvs = fc.record(
  {
    ...Object.fromEntries(
      Object.entries(TLV_FIELDS).map(
        ([name, [, kind, bytesMax]]: [string, readonly [number, string, number?]]) => [
          name,
          tlvValue(kind, bytesMax ?? 0),
        ],
      ),
    ),
    other: fc.array(
      fc.record({ tag: fc.integer({ min: 0x1400, max: 0x3fff }), value: octets(40) }),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  },
  { requiredKeys: [] },
);

const decode = (buffer: Buffer): Pdu => decodePdu(buffer, 0, buffer.length);

describe("SMPP codec", () => {
  it("the codec writes the bind_transmitter of SMPP 3.4 section 3.2 octet by octet", () => {
    const octetsOfTheBook =
      "0000002f000000020000000000000001534d5050335445535400736563726574303800" +
      "5355424d49543100000101 00".replace(" ", "");
    const pdu = encodePdu({
      command: "bind_transmitter",
      sequence: 1,
      body: {
        systemId: "SMPP3TEST",
        password: "secret08",
        systemType: "SUBMIT1",
        interfaceVersion: 0,
        addrTon: 1,
        addrNpi: 1,
      },
    });
    expect(pdu.toString("hex")).to.equal(octetsOfTheBook);
  });

  for (const command of COMMANDS) {
    it(`reads back every ${command} that it writes, with any optional parameters`, () => {
      fc.assert(
        fc.property(
          bodyOf(command),
          tlvs,
          fc.nat(),
          fc.nat(),
          (body, optional, sequence, status) => {
            const pdu = { command, body, tlvs: optional as Tlvs, sequence, status } as OutgoingPdu;
            expect(decode(encodePdu(pdu))).to.deep.equal({ ...pdu, tlvs: { ...optional } });
          },
        ),
        { numRuns: 40 },
      );
    });
  }

  it("the codec decodes any octets or throws PduError", () => {
    const header = fc.record({
      command: fc.oneof(fc.constantFrom(...Object.values(COMMAND_IDS)), fc.nat()),
      status: fc.nat(),
      sequence: fc.nat(),
    });
    fc.assert(
      fc.property(header, octets(400), ({ command, status, sequence }, body) => {
        const frame = Buffer.alloc(16 + body.length);
        frame.writeUInt32BE(frame.length, 0);
        frame.writeUInt32BE(command, 4);
        frame.writeUInt32BE(status, 8);
        frame.writeUInt32BE(sequence, 12);
        body.copy(frame, 16);
        try {
          expect(decode(frame).sequence).to.equal(sequence);
        } catch (error) {
          expect(error).to.be.instanceOf(PduError);
          expect((error as PduError).sequence).to.equal(sequence);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("the codec decodes any PDU with one changed octet or throws PduError, and never reads past its end", () => {
    fc.assert(
      fc.property(
        fc
          .constantFrom(...COMMANDS)
          .chain((command) => fc.tuple(fc.constant(command), bodyOf(command))),
        tlvs,
        fc.nat(),
        octet,
        ([command, body], optional, position, value) => {
          const frame = encodePdu({
            command,
            body,
            tlvs: optional as Tlvs,
            sequence: 1,
          } as OutgoingPdu);
          frame[16 + (position % Math.max(1, frame.length - 16))] = value;
          const guarded = Buffer.concat([frame, Buffer.alloc(64, 0x41)]);
          try {
            decodePdu(guarded, 0, frame.length);
          } catch (error) {
            expect(error).to.be.instanceOf(PduError);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  const AGREED: [CommandName, object, Record<string, unknown>][] = [
    [
      "submit_sm",
      {
        sourceAddrTon: 5,
        sourceAddr: "ACME",
        destAddrTon: 1,
        destAddrNpi: 1,
        destinationAddr: "2348031234567",
        esmClass: 0x40,
        registeredDelivery: 1,
        dataCoding: 8,
        shortMessage: Buffer.from("0500030a0201feff", "hex"),
      },
      {
        source_addr_ton: 5,
        source_addr: "ACME",
        dest_addr_ton: 1,
        dest_addr_npi: 1,
        destination_addr: "2348031234567",
        esm_class: 0x40,
        registered_delivery: 1,
        data_coding: 8,
        short_message: Buffer.from("0500030a0201feff", "hex"),
      },
    ],
    ["submit_sm_resp", { messageId: "00F3A1" }, { message_id: "00F3A1" }],
    [
      "bind_transceiver",
      { systemId: "me", password: "secret", interfaceVersion: 0x34 },
      { system_id: "me", password: "secret", interface_version: 0x34 },
    ],
    ["query_sm", { messageId: "7", sourceAddr: "100" }, { message_id: "7", source_addr: "100" }],
    [
      "cancel_sm",
      { messageId: "7", sourceAddr: "100", destinationAddr: "200" },
      { message_id: "7", source_addr: "100", destination_addr: "200" },
    ],
    [
      "data_sm",
      { sourceAddr: "1", destinationAddr: "2", esmClass: 4, dataCoding: 3 },
      { source_addr: "1", destination_addr: "2", esm_class: 4, data_coding: 3 },
    ],
    [
      "alert_notification",
      { sourceAddr: "1", esmeAddr: "2", esmeAddrTon: 1 },
      { source_addr: "1", esme_addr: "2", esme_addr_ton: 1 },
    ],
    ["outbind", { systemId: "s", password: "p" }, { system_id: "s", password: "p" }],
    ["enquire_link", {}, {}],
    ["generic_nack", {}, {}],
  ];
  for (const [command, body, other] of AGREED) {
    it(`writes and reads ${command} as the npm package smpp does`, () => {
      const ours = encodePdu({ command, body, sequence: 9 } as OutgoingPdu);
      const theirs = new NpmPdu(command, { ...other, sequence_number: 9 }).toBuffer();
      expect(ours.toString("hex")).to.equal(theirs.toString("hex"));
      expect(decode(theirs).body).to.deep.include(body);
    });
  }

  it("reads the optional parameters that the npm package smpp writes", () => {
    const theirs = new NpmPdu("deliver_sm", {
      receipted_message_id: "abc",
      message_state: 2,
      network_error_code: Buffer.from([3, 0, 27]),
      user_message_reference: 513,
      sar_msg_ref_num: 7,
      alert_on_message_delivery: true,
      message_payload: Buffer.from("payload"),
    }).toBuffer();
    const { tlvs: read } = decode(theirs);
    expect(read).to.deep.include({
      receiptedMessageId: "abc",
      messageState: 2,
      networkErrorCode: Buffer.from([3, 0, 27]),
      userMessageReference: 513,
      sarMsgRefNum: 7,
      messagePayload: Buffer.from("payload"),
    });
  });

  describe("values that the wire cannot carry", () => {
    const cases: [string, OutgoingPdu][] = [
      [
        "a string that is too long",
        {
          command: "bind_receiver",
          sequence: 1,
          body: { systemId: "a".repeat(16) },
        } as OutgoingPdu,
      ],
      [
        "a zero inside a string",
        { command: "submit_sm", sequence: 1, body: { sourceAddr: "a\0b" } } as OutgoingPdu,
      ],
      [
        "a character beyond Latin-1",
        { command: "submit_sm", sequence: 1, body: { sourceAddr: "€" } } as OutgoingPdu,
      ],
      [
        "a short_message of 255 octets",
        {
          command: "submit_sm",
          sequence: 1,
          body: { shortMessage: Buffer.alloc(255) },
        } as OutgoingPdu,
      ],
      [
        "a number beyond an octet",
        { command: "submit_sm", sequence: 1, body: { esmClass: 256 } } as OutgoingPdu,
      ],
      [
        "a submit_multi without destinations",
        { command: "submit_multi", sequence: 1, body: {} } as OutgoingPdu,
      ],
      [
        "an optional parameter out of range",
        { command: "submit_sm", sequence: 1, tlvs: { sarTotalSegments: 256 } },
      ],
      [
        "a message_payload over 65,535 octets",
        { command: "submit_sm", sequence: 1, tlvs: { messagePayload: Buffer.alloc(65536) } },
      ],
    ];
    for (const [name, pdu] of cases) {
      it(name, () => {
        expect(() => encodePdu(pdu)).to.throw(EncodeError);
      });
    }
  });

  describe("input outside the specification that carriers send", () => {
    const header = (command: number, body: Buffer, status = 0): Buffer => {
      const frame = Buffer.concat([Buffer.alloc(16), body]);
      frame.writeUInt32BE(frame.length, 0);
      frame.writeUInt32BE(command, 4);
      frame.writeUInt32BE(status, 8);
      frame.writeUInt32BE(5, 12);
      return frame;
    };
    it("a response without a body reads as one with an empty body", () => {
      expect(decode(header(COMMAND_IDS.submit_sm_resp, Buffer.alloc(0), 0x58))).to.deep.include({
        status: 0x58,
        body: { messageId: "" },
      });
    });
    it("up to three octets after the body are ignored", () => {
      const pdu = decode(header(COMMAND_IDS.deliver_sm_resp, Buffer.from("00000000", "hex")));
      expect(pdu.body).to.deep.equal({ messageId: "" });
    });
    it("a message id of 200 octets is read", () => {
      const pdu = decode(header(COMMAND_IDS.submit_sm_resp, Buffer.from(`${"a".repeat(200)}\0`)));
      expect(pdu.body).to.deep.equal({ messageId: "a".repeat(200) });
    });
    it("a message_state of four octets is read as a number", () => {
      const tlv = Buffer.from("0004270004000000020000", "hex").subarray(0, 9);
      const pdu = decode(header(COMMAND_IDS.data_sm_resp, tlv));
      expect(pdu.tlvs.messageState).to.equal(2);
    });
    it("an optional parameter longer than the rest of the PDU throws PduError", () => {
      const tlv = Buffer.from("0000042700ff02", "hex");
      expect(() => decode(header(COMMAND_IDS.data_sm_resp, tlv))).to.throw(PduError);
    });
  });
});
