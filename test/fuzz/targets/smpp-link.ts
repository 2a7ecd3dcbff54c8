import assert from "node:assert/strict";
import { encodePdu } from "../../../services/shared/smpp/codec.ts";
import { startSimulator } from "../../../services/smsc-simulator/create-simulator.ts";
import type { FuzzTarget } from "../run-target.ts";
import { talk } from "../talk.ts";
import { generateFrame } from "./smpp.ts";

const ENQUIRY = 0x7abcdef0;
const credentials = { systemId: "carrier", password: "secret" };
const BIND = encodePdu({ command: "bind_transceiver", sequence: 1, body: credentials });
const ENQUIRE = encodePdu({ command: "enquire_link", sequence: ENQUIRY });
const SIGN = Buffer.alloc(4);
SIGN.writeUInt32BE(ENQUIRY);

/** A session on a real socket: it ends when its client does, and the next client is served. */
export const smppLinkTarget: FuzzTarget = {
  name: "smpp-link",
  async open() {
    const simulator = await startSimulator({
      host: "127.0.0.1",
      port: 0,
      controlPort: 0,
      ...credentials,
    });
    return {
      seeds: [encodePdu({ command: "submit_sm", sequence: 2, body: { destinationAddr: "234" } })],
      generate: generateFrame,
      async check(input) {
        await talk(simulator.port, Buffer.concat([BIND, input]));
        const answer = await talk(simulator.port, Buffer.concat([BIND, ENQUIRE]));
        assert.ok(answer.includes(SIGN), "the next client is answered");
      },
      close: () => simulator.close(),
    };
  },
};
