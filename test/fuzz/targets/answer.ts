import assert from "node:assert/strict";
import {
  BODY_BYTES_MAX,
  BODY_KEPT_BYTES,
  ResponseParser,
} from "../../../services/webhook/adapters/http-client/response-parser.ts";
import type { Random } from "../random.ts";
import type { FuzzTarget } from "../run-target.ts";

const SEEDS = [
  "HTTP/1.1 204 No Content\r\nDate: x\r\nKeep-Alive: timeout=5\r\n\r\n",
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 500 X\r\nConnection: keep-alive\r\n\r\nno",
];

const STARTS = ["HTTP/1.1 200 OK", "HTTP/1.0 200", "HTTP/1.1 304 X", "HTTP/1.1 101 X", "HTTP/9"];
const LINES = [
  ...["Content-Length: 5", "Content-Length: 0", "Content-Length: 5, 5", "Content-Length: -1"],
  ...["Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: x"],
  ...[
    "Connection: close",
    "Connection: keep-alive",
    "Keep-Alive: timeout=1",
    " folded",
    "X",
    ": x",
  ],
];
const BODIES = ["", "hello", "5\r\nhello\r\n0\r\n\r\n", "ffffff\r\n", "0\r\nX: y\r\n\r\n", "\r\n"];

/** Webhook responses: parsed the same in any chunks, within bounds, completely or not at all. */
export const answerTarget: FuzzTarget = {
  name: "answer",
  open: async () => ({
    seeds: SEEDS.map((text) => Buffer.from(text, "latin1")),
    generate: generateAnswer,
    check(input) {
      for (const ends of [true, false]) {
        const whole = read(input, input.length, ends);
        for (const size of [1, 7]) {
          assert.deepEqual(read(input, size, ends), whole, "the same in any pieces");
        }
      }
      const { isDone, isReusable, httpStatus, text } = read(input, input.length, false);
      assert.ok(Buffer.byteLength(text) <= BODY_KEPT_BYTES * 3, "no more is kept");
      assert.ok(httpStatus === 0 || (httpStatus > 100 && httpStatus < 1000), "a status");
      if (input.length > BODY_BYTES_MAX * 8) assert.ok(!isReusable, "nothing huge is read whole");
      const more = read(Buffer.concat([input, Buffer.of(0x48)]), input.length + 1, false);
      if (isDone) assert.ok(!more.isReusable, "an octet too many is noticed");
      if (isReusable) assert.deepEqual({ ...more, isReusable }, read(input, 7, false));
    },
    close: async () => undefined,
  }),
};

function generateAnswer(random: Random): Buffer {
  const lines = Array.from({ length: random.below(4) }, () => random.pick(LINES));
  const head = [random.pick(STARTS), ...lines, "", ""].join("\r\n");
  const interim = random.oneIn(4) ? "HTTP/1.1 102 X\r\n\r\n" : "";
  const body = random.oneIn(20) ? "x".repeat(20_000) : random.pick(BODIES);
  return Buffer.from(interim + head + body, "latin1");
}

/** Reads input in pieces of a size; only what is done can be used again. */
function read(input: Buffer, size: number, ends: boolean) {
  const reader = new ResponseParser();
  for (let at = 0; at < input.length; at += size) reader.push(input.subarray(at, at + size));
  if (ends) reader.end();
  const { httpStatus, isDone, isFaulty, text, keepAliveMs } = reader;
  return {
    httpStatus,
    isDone,
    isFaulty,
    text,
    keepAliveMs,
    isReusable: isDone && reader.isReusable,
  };
}
