import assert from "node:assert/strict";
import { decodePdu, encodePdu } from "../../../services/shared/smpp/codec.ts";
import { COMMAND_IDS } from "../../../services/shared/smpp/commands.ts";
import { EncodeError, FrameError, PduError } from "../../../services/shared/smpp/errors.ts";
import { FrameReader } from "../../../services/shared/smpp/frame-reader.ts";
import type { OutgoingPdu, Pdu } from "../../../services/shared/smpp/pdu.ts";
import { parseReceipt } from "../../../services/shared/smpp/receipts.ts";
import { readUserData } from "../../../services/shared/smpp/user-data-header.ts";
import type { Random } from "../random.ts";
import type { FuzzTarget } from "../run-target.ts";

const FRAME_BYTES_MAX = 65_536;
const IDS = Object.values(COMMAND_IDS);

const SEEDS: readonly OutgoingPdu[] = [
  { command: "bind_transceiver", sequence: 1, body: { systemId: "carrier", password: "secret" } },
  { command: "submit_sm_resp", sequence: 2, body: { messageId: "4f3a" } },
  {
    command: "deliver_sm",
    sequence: 3,
    body: {
      esmClass: 4,
      sourceAddr: "2348031234567",
      destinationAddr: "ACME",
      shortMessage: Buffer.from("id:4f3a stat:DELIVRD err:000 text:"),
    },
    tlvs: { receiptedMessageId: "4f3a", messageState: 2, networkErrorCode: Buffer.from([3, 0, 0]) },
  },
  {
    command: "submit_sm",
    sequence: 4,
    body: {
      esmClass: 0x40,
      destinationAddr: "2348031234567",
      shortMessage: Buffer.from("050003070201414243", "hex"),
    },
    tlvs: { sarMsgRefNum: 7, sarTotalSegments: 2, sarSegmentSeqnum: 1 },
  },
  { command: "enquire_link", sequence: 5 },
];

/** Frames, PDUs, optional parameters and user data headers as a carrier may send them. */
export const smppTarget: FuzzTarget = {
  name: "smpp",
  open: async () => ({
    seeds: SEEDS.map((pdu) => encodePdu(pdu)),
    generate: generateFrame,
    check(input) {
      const whole = framesOf(input, input.length);
      assert.deepEqual(framesOf(input, 1), whole, "frames do not depend on how octets arrive");
      for (const frame of whole.frames) checkFrame(frame);
      readUserData(input);
    },
    close: async () => undefined,
  }),
};

/** A frame of good length with a known command, any octets behind, and parameters of odd lengths. */
export function generateFrame(random: Random): Buffer {
  const body = Buffer.from(Array.from({ length: random.below(60) }, () => random.below(256)));
  const parameters = Array.from({ length: random.below(4) }, () => {
    const value = Buffer.alloc(random.below(12), random.below(256));
    const head = Buffer.alloc(4);
    head.writeUInt16BE(random.pick([0x0005, 0x001e, 0x0204, 0x0424, 0x0427, 0x1400, 0xffff]), 0);
    head.writeUInt16BE(random.oneIn(4) ? random.below(65_536) : value.length, 2);
    return Buffer.concat([head, value]);
  });
  const frame = Buffer.concat([Buffer.alloc(16), body, ...parameters]);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt32BE(random.oneIn(10) ? random.below(0x7fffffff) : random.pick(IDS), 4);
  frame.writeUInt32BE(random.pick([0, 0, 8, 0x58, 0xff]), 8);
  frame.writeUInt32BE(1 + random.below(0x7ffffffe), 12);
  return frame;
}

function framesOf(input: Buffer, chunkBytes: number): { frames: Buffer[]; end: string } {
  const frames: Buffer[] = [];
  const reader = new FrameReader(FRAME_BYTES_MAX, (buffer, start, end) => {
    frames.push(Buffer.from(buffer.subarray(start, end)));
  });
  try {
    for (let at = 0; at < input.length; at += chunkBytes) {
      reader.push(input.subarray(at, at + chunkBytes));
    }
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return { frames, end: error.message };
  }
  return { frames, end: reader.hasPartialFrame ? "a part of a frame" : "whole" };
}

function checkFrame(frame: Buffer): void {
  let pdu: Pdu;
  try {
    pdu = decodePdu(frame, 0, frame.length);
  } catch (error) {
    if (error instanceof PduError) return;
    throw error;
  }
  if (pdu.command === "deliver_sm" || pdu.command === "data_sm") {
    parseReceipt(pdu, { isTextEnough: true });
  }
  let again: Buffer;
  try {
    again = encodePdu(pdu as unknown as OutgoingPdu);
  } catch (error) {
    // Strings longer than the book allows are read, and not written.
    if (error instanceof EncodeError) return;
    throw error;
  }
  assert.deepEqual(decodePdu(again, 0, again.length), pdu, "what is written is what was read");
}
