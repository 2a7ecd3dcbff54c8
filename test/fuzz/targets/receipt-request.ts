import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { HttpSettingsSchema } from "../../../proto/gen/sms/v1/routing_pb.js";
import { startCallbackListener } from "../../../services/carrier/adapters/callback-listener.ts";
import type { IncomingReceipt } from "../../../services/carrier/domain/message.ts";
import { makeReceiptUrl } from "../../../services/carrier/domain/receipt-url.ts";
import type { Random } from "../random.ts";
import type { FuzzTarget } from "../run-target.ts";
import { talk } from "../talk.ts";

const SECRET = "a secret of the fuzzer, which signs nothing else";
const PLACE = { connectorId: "web", messageId: "msg_01JD8031234567ABCDEFGHJKMN" };
const PATH = makeReceiptUrl("", PLACE, SECRET);
const STATUSES = {
  OK: "delivered",
  WAIT: "acknowledged",
  NO: "undelivered",
  OFF: "absent_subscriber",
};
const SETTINGS = create(HttpSettingsSchema, {
  receiptSecret: SECRET,
  receiptStatusPointer: "/results/0/state",
  receiptStatuses: STATUSES,
});
const JSON_TYPE = "application/json";
const BODIES = [
  ...[
    '{"results":[{"state":"OK"}]}',
    '{"results":[{"state":"NO"}]}',
    '{"results":{"0":{"state":1}}}',
  ],
  ...['{"results":"OK"}', '{"results":[null]}', "[]", "null", "", "{", '"', "1e999"],
  ...['{"__proto__":{"results":[{"state":"OK"}]}}', '{"results":[{"state":"__proto__"}]}'],
  ...["state=OK", "results=OK&results=NO", "%", "__proto__=1"],
];
const GOOD = request(PATH, JSON_TYPE, BODIES[0] ?? "");
/** The responses that a carrier may get. With 503 it would repeat the request for ever. */
const ANSWERS = new Set([100, 204, 400, 404, 405, 408, 413, 417, 422, 431]);

/** Calls of HTTP carriers: one that is signed and says something is taken once, all others change nothing. */
export const receiptRequestTarget: FuzzTarget = {
  name: "receipt-request",
  async open() {
    let taken: IncomingReceipt[] = [];
    const listener = await startCallbackListener({
      host: "127.0.0.1",
      port: 0,
      clock: { now: () => 1_795_000_000_000 },
      findSettings: (id) => (id === PLACE.connectorId ? SETTINGS : undefined),
      onReceipt: async (receipt) => void taken.push(receipt),
      onInbound: async () => assert.fail("no call of this target is a message from a handset"),
    });
    return {
      seeds: [GOOD, request(PATH, "application/x-www-form-urlencoded", "state=OK")].map((text) =>
        Buffer.from(text, "latin1"),
      ),
      generate: (random) => Buffer.from(generateCall(random), "latin1"),
      async check(input) {
        taken = [];
        const statuses = statusesIn(await talk(listener.port, input));
        for (const status of statuses) assert.ok(ANSWERS.has(status), `an answer of ${status}`);
        const done = statuses.filter((status) => status === 204).length;
        const calls = input.toString("latin1").split(PATH).length - 1;
        assert.ok(taken.length >= done, "what is called done was taken");
        assert.ok(taken.length <= calls, "a call is taken once");
        for (const { connectorId, messageId, verdict, errorCode } of taken) {
          assert.deepEqual({ connectorId, messageId }, PLACE, "nobody else's message");
          assert.ok(["delivered", "undelivered", "acknowledged"].includes(verdict), verdict);
          assert.equal(errorCode === "", verdict !== "undelivered");
        }
        const next = statusesIn(await talk(listener.port, Buffer.from(GOOD, "latin1")));
        assert.deepEqual(next, [204], "the next call is taken");
      },
      close: () => listener.close(),
    };
  },
};

function request(path: string, type: string, body: string, line = "POST"): string {
  const head = [
    `${line} ${path} HTTP/1.1`,
    "Host: x",
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

function generateCall(random: Random): string {
  const path = random.pick([PATH, PATH, `${PATH}?a=b`, PATH.slice(0, -1), `${PATH}0`, "/", "*"]);
  const type = random.pick([JSON_TYPE, "application/x-www-form-urlencoded", "", "text/xml"]);
  const method = random.oneIn(8) ? random.pick(["GET", "PUT", "HEAD", "OPTIONS"]) : "POST";
  const body = random.oneIn(30) ? "x".repeat(70_000) : random.pick(BODIES);
  return request(path, type, body, method).repeat(random.oneIn(6) ? 2 : 1);
}

function statusesIn(answer: Buffer): number[] {
  return [...answer.toString("latin1").matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) =>
    Number(status),
  );
}
