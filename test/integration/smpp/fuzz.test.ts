import { connect } from "node:net";
import { expect } from "chai";
import fc from "fast-check";
import { encodePdu } from "../../../services/shared/smpp/codec.ts";
import { COMMAND_IDS } from "../../../services/shared/smpp/commands.ts";
import {
  type Simulator,
  startSimulator,
} from "../../../services/smsc-simulator/create-simulator.ts";
import { eventually } from "../../support/poll.ts";

const ENQUIRY = 0x7abcdef0;

describe("an SMPP server with random input", () => {
  let simulator: Simulator;

  before(async () => {
    const credentials = { systemId: "carrier", password: "secret" };
    simulator = await startSimulator({
      host: "127.0.0.1",
      port: 0,
      controlPort: 0,
      ...credentials,
    });
  });
  after(() => simulator.close());

  const bind = encodePdu({
    command: "bind_transceiver",
    sequence: 1,
    body: { systemId: "carrier", password: "secret" },
  });
  const enquiry = encodePdu({ command: "enquire_link", sequence: ENQUIRY });
  const sign = Buffer.alloc(4);
  sign.writeUInt32BE(ENQUIRY);

  /** Sends octets on a link of their own; tells whether it was answered or closed at the end. */
  async function isAnsweredOrClosed(octets: Buffer): Promise<boolean> {
    const socket = connect({ host: "127.0.0.1", port: simulator.port });
    let received = Buffer.alloc(0);
    let isClosed = false;
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      isClosed = true;
    });
    socket.write(Buffer.concat([bind, octets, enquiry]));
    try {
      await eventually(() => isClosed || received.includes(sign), { everyMs: 2, timeoutMs: 3000 });
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }

  // unbind ends the link in its own time, which other tests look at.
  const ids = Object.values(COMMAND_IDS).filter((id) => id !== COMMAND_IDS.unbind);
  const pdu = fc
    .tuple(fc.constantFrom(...ids, 0x999), fc.nat(0xff), fc.uint8Array({ maxLength: 120 }))
    .map(([command, status, body]) => {
      const frame = Buffer.concat([Buffer.alloc(16), body]);
      frame.writeUInt32BE(frame.length, 0);
      frame.writeUInt32BE(command, 4);
      frame.writeUInt32BE(status, 8);
      frame.writeUInt32BE(7, 12);
      return frame;
    });

  it("the server answers enquire_link after any PDUs of valid length, or has closed the link", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(pdu, { minLength: 1, maxLength: 20 }), async (pdus) => {
        expect(await isAnsweredOrClosed(Buffer.concat(pdus))).to.equal(true);
      }),
      { numRuns: 150 },
    );
  });

  it("the server accepts the next client after any octets", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (octets) => {
        const socket = connect({ host: "127.0.0.1", port: simulator.port });
        socket.on("error", () => {});
        socket.resume();
        socket.end(octets);
        await new Promise((resolve) => socket.once("close", resolve));
        expect(await isAnsweredOrClosed(Buffer.alloc(0))).to.equal(true);
      }),
      { numRuns: 60 },
    );
  });
});
