import assert from "node:assert/strict";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createSmppClient } from "../../../services/shared/smpp/client.ts";
import { encodePdu } from "../../../services/shared/smpp/codec.ts";
import { FrameReader } from "../../../services/shared/smpp/frame-reader.ts";
import type { Random } from "../random.ts";
import type { FuzzTarget } from "../run-target.ts";
import { generateFrame } from "./smpp.ts";

const ENQUIRY = 0x7abcdef0;
const ENQUIRE = encodePdu({ command: "enquire_link", sequence: ENQUIRY });
/** The client's submits: its bind was 1. */
const SEQUENCES = [2, 3];
const TOKENS = ["one", "two"];
const KINDS = new Set(["accepted", "refused", "unknown", "not_sent"]);

/** Our end of a link to a carrier that says anything: every submit ends, once, and none unannounced. */
export const smppClientTarget: FuzzTarget = {
  name: "smpp-client",
  async open() {
    let script: Buffer = Buffer.alloc(0);
    const server = createServer((socket) => serve(socket, () => script));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      seeds: SEQUENCES.map((sequence) =>
        encodePdu({ command: "submit_sm_resp", sequence, body: { messageId: `m${sequence}` } }),
      ),
      generate: answers,
      async check(input) {
        script = input;
        const announced = new Set<string>();
        let onBound = () => {};
        const bound = new Promise<void>((resolve) => {
          onBound = resolve;
        });
        const client = createSmppClient({
          host: "127.0.0.1",
          port,
          systemId: "carrier",
          password: "secret",
          windowMax: 2,
          responseTimeoutMs: 2000,
          // One link per input: later links belong to later inputs.
          reconnectMinMs: 60_000,
          beforeWrite: (tokens) => {
            for (const token of tokens) announced.add(token);
          },
          onDeliver: () => undefined,
          onState: (state) => {
            if (state === "bound") onBound();
          },
        });
        client.start();
        await bound;
        const outcomes = await Promise.all(
          TOKENS.map((token) => client.submit({ destinationAddr: "234803" }, undefined, token)),
        );
        await client.close();
        assert.equal(client.state, "stopped");
        assert.equal(client.inFlight + client.queued, 0, "nothing is left");
        outcomes.forEach((outcome, at) => {
          assert.ok(KINDS.has(outcome.kind), `a submit ends as ${outcome.kind}`);
          const isAnnounced = announced.has(TOKENS[at] ?? "");
          assert.equal(isAnnounced, outcome.kind !== "not_sent", "announced if it may have left");
        });
      },
      close: () => new Promise((resolve) => void server.close(() => resolve())),
    };
  },
};

/** Some frames, most of them under numbers that the client waits for. */
function answers(random: Random): Buffer {
  const frames = Array.from({ length: 1 + random.below(4) }, () => {
    const frame = generateFrame(random);
    if (random.oneIn(4)) return frame;
    frame.writeUInt32BE(random.pick(SEQUENCES), 12);
    // A submit_sm_resp or a generic_nack (SMPP 3.4 section 5.1.2.1).
    if (random.oneIn(2)) frame.writeUInt32BE(random.pick([0x80000004, 0x80000000]), 4);
    return frame;
  });
  return Buffer.concat(frames);
}

/** Accepts the bind, answers the first submit with the script, and closes after its processing. */
function serve(socket: Socket, script: () => Buffer): void {
  let isScriptSent = false;
  socket.on("error", () => undefined);
  const reader = new FrameReader(65_536, (buffer, start) => {
    const command = buffer.readUInt32BE(start + 4);
    const sequence = buffer.readUInt32BE(start + 12);
    if (command === 0x00000009) {
      socket.write(encodePdu({ command: "bind_transceiver_resp", sequence, body: {} }));
    } else if (command === 0x00000004 && !isScriptSent) {
      isScriptSent = true;
      socket.write(Buffer.concat([script(), ENQUIRE]));
      // A frame that announces more than comes would keep the client waiting.
      setTimeout(() => socket.destroy(), 100).unref();
    } else if (sequence === ENQUIRY) socket.destroy();
  });
  socket.on("data", (chunk: Buffer) => reader.push(chunk));
}
