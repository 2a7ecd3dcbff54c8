import { expect } from "chai";
import fc from "fast-check";
import {
  BODY_BYTES_MAX,
  BODY_KEPT_BYTES,
  HEAD_BYTES_MAX,
  INTERIM_BYTES_MAX,
  INTERIM_MAX,
  ResponseParser,
} from "../../../services/webhook/adapters/http-client/response-parser.ts";

/** The result of parsing a response. */
type Read = "faulty" | "unfinished" | readonly [status: number, text: string, isReusable: boolean];

/** Parses octets in pieces that end at `cuts`, then ends the connection if `ends`. */
function read(octets: Buffer, cuts: readonly number[] = [], ends = false): Read {
  const parser = new ResponseParser();
  let from = 0;
  for (const to of [...cuts, octets.length]) {
    if (to > from) parser.push(octets.subarray(from, to));
    from = Math.max(from, to);
  }
  if (ends) parser.end();
  if (parser.isFaulty) return "faulty";
  return parser.isDone ? [parser.httpStatus, parser.text, parser.isReusable] : "unfinished";
}

const octetsOf = (lines: string) => Buffer.from(lines.replaceAll("\n", "\r\n"), "latin1");
const byteByByte = (octets: Buffer) => Array.from(octets, (_, at) => at);

const OK = "HTTP/1.1 200 OK\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\n\n`;
const interims = (count: number) => "HTTP/1.1 102 Processing\n\n".repeat(count);
const x = (count: number) => "x".repeat(count);

/** A line end is written as LF here and sent as CR LF. */
const CASES: readonly (readonly [name: string, lines: string, expected: Read])[] = [
  ["204 without a body", "HTTP/1.1 204 No Content\nDate: x\n\n", [204, "", true]],
  ["304 with a length", "HTTP/1.1 304 X\nContent-Length: 5\n\n", [304, "", false]],
  ["204 with a length of 0", "HTTP/1.1 204 X\nContent-Length: 0\n\n", [204, "", true]],
  ["204 with a length of 5", "HTTP/1.1 204 X\nContent-Length: 5\n\n", [204, "", false]],
  ["204 with chunks", "HTTP/1.1 204 X\nTransfer-Encoding: chunked\n\n", [204, "", false]],
  ["a length", `${OK}Content-Length: 5\n\nhello`, [200, "hello", true]],
  ["a length of 0", `${OK}content-length:0\n\n`, [200, "", true]],
  ["names in any case", `${OK}CONTENT-LENGTH:\t2 \n\nok`, [200, "ok", true]],
  ["no reason", "HTTP/1.1 200\nContent-Length: 0\n\n", [200, "", true]],
  ["an empty reason", "HTTP/1.1 200 \nContent-Length: 0\n\n", [200, "", true]],
  ["a body shorter than its length", `${OK}Content-Length: 5\n\nhell`, "unfinished"],
  ["a head without its end", `${OK}Content-Length: 5\n`, "unfinished"],
  ["octets after the end", `${OK}Content-Length: 2\n\nokHTTP`, [200, "ok", false]],
  ["octets after a 204", "HTTP/1.1 204 X\n\nx", [204, "", false]],
  ["one length twice", `${OK}Content-Length: 2\nContent-Length: 2\n\nok`, [200, "ok", true]],
  ["one length twice in a line", `${OK}Content-Length: 2, 2\n\nok`, [200, "ok", true]],
  ["two lengths", `${OK}Content-Length: 2\nContent-Length: 3\n\nok`, [200, "", false]],
  ["two lengths in a line", `${OK}Content-Length: 2, 3\n\nok`, [200, "", false]],
  ["a length below 0", `${OK}Content-Length: -1\n\n`, [200, "", false]],
  ["a length with a sign", `${OK}Content-Length: +1\n\nx`, [200, "", false]],
  ["a length in hexadecimal", `${OK}Content-Length: 0x1\n\nx`, [200, "", false]],
  ["an empty length", `${OK}Content-Length:\n\n`, [200, "", false]],
  ["a length of 16 digits", `${OK}Content-Length: 9999999999999999\n\n`, [200, "", false]],
  ["chunks", `${CHUNKED}5\nhello\n6;name="a;b"\n world\n0\n\n`, [200, "hello world", true]],
  ["a size in capitals", `${CHUNKED}A\n0123456789\n0\n\n`, [200, "0123456789", true]],
  ["a size with zeros and spaces", `${CHUNKED}002 \nok\n000\n\n`, [200, "ok", true]],
  ["trailers", `${CHUNKED}2\nok\n0\nContent-Length: 9\nX: y\n\n`, [200, "ok", true]],
  ["an invalid trailer", `${CHUNKED}0\nno field\n\n`, "faulty"],
  ["endless trailers", `${CHUNKED}0\n${`X: ${x(500)}\n`.repeat(40)}`, "faulty"],
  ["chunks without their end", `${CHUNKED}2\nok\n`, "unfinished"],
  ["a chunk longer than it says", `${CHUNKED}2\noks\n0\n\n`, "faulty"],
  ["an invalid size", `${CHUNKED}x\n`, "faulty"],
  ["an empty size", `${CHUNKED}\n`, "faulty"],
  ["a size below 0", `${CHUNKED}-1\n`, "faulty"],
  ["a size of 14 digits", `${CHUNKED}${"f".repeat(14)}\n`, "faulty"],
  ["an endless extension", `${CHUNKED}1;${x(1100)}`, "faulty"],
  ["octets after the chunks", `${CHUNKED}0\n\nx`, [200, "", false]],
  [
    "chunks and a length",
    `${OK}Content-Length: 4\nTransfer-Encoding: chunked\n\n2\nok\n0\n\n`,
    [200, "ok", false],
  ],
  ["codings", `${OK}Transfer-Encoding: gzip, chunked\n\n2\nok\n0\n\n`, [200, "ok", false]],
  ["chunks by HTTP/1.0", `HTTP/1.0 200 X\nTransfer-Encoding: chunked\n\n0\n\n`, [200, "", false]],
  ["a coding without chunks", `${OK}Transfer-Encoding: gzip\n\nx`, "unfinished"],
  ["no length", `${OK}\nhello`, "unfinished"],
  ["Connection: close", `${OK}Connection: close\nContent-Length: 2\n\nok`, [200, "ok", false]],
  ["close among others", `${OK}Connection: X, Close\nContent-Length: 0\n\n`, [200, "", false]],
  [
    "close in a second line",
    "HTTP/1.1 204 X\nConnection: x\nConnection: close\n\n",
    [204, "", false],
  ],
  ["HTTP/1.0", "HTTP/1.0 200 OK\nContent-Length: 2\n\nok", [200, "ok", false]],
  [
    "HTTP/1.0 with keep-alive",
    "HTTP/1.0 200 OK\nConnection: Keep-Alive\nContent-Length: 2\n\nok",
    [200, "ok", true],
  ],
  ["100 before the response", "HTTP/1.1 100 Continue\n\nHTTP/1.1 204 X\n\n", [204, "", true]],
  ["100 alone", "HTTP/1.1 100 Continue\n\n", "unfinished"],
  ["the most interim responses", `${interims(INTERIM_MAX)}HTTP/1.1 204 X\n\n`, [204, "", true]],
  ["one interim response too many", `${interims(INTERIM_MAX + 1)}HTTP/1.1 204 X\n\n`, "faulty"],
  ["101, which is final", "HTTP/1.1 101 Switching\nUpgrade: x\n\n", [101, "", false]],
  ["a field over two lines", `${OK}Content-Length:\n\t2\n\nok`, [200, "ok", true]],
  ["a space before the colon", `${OK}Content-Length : 2\n\nok`, [200, "", false]],
  ["a field without a colon", `${OK}hello\n\n`, [200, "", false]],
  ["a field without a name", `${OK}: 5\n\n`, [200, "", false]],
  ["a zero octet", `${OK}X: \0\n\n`, [200, "", false]],
  ["a carriage return in a field", `${OK}X: a\rb\n\n`, [200, "", false]],
  ["no HTTP", "hello\n\n", "faulty"],
  ["no HTTP, without an end", "hello", "faulty"],
  ["another protocol", "HTTP/2 200 OK\n\n", "faulty"],
  ["a status of two digits", "HTTP/1.1 20 OK\n\n", "faulty"],
  ["a status of four digits", "HTTP/1.1 2000 OK\n\n", "faulty"],
  ["a status below 100", "HTTP/1.1 099 OK\n\n", "faulty"],
  ["an empty line first", `\n${OK}Content-Length: 0\n\n`, "faulty"],
  ["an error head without an end", `HTTP/1.1 500 X\nX: ${x(HEAD_BYTES_MAX)}`, "faulty"],
  ["an interim head without an end", `HTTP/1.1 102 X\nX: ${x(2 * INTERIM_BYTES_MAX)}`, "faulty"],
  [
    "an interim head longer than a head may be",
    `HTTP/1.1 103 X\nX: ${x(HEAD_BYTES_MAX)}\n\nHTTP/1.1 204 X\n\n`,
    [204, "", true],
  ],
  [
    "an interim head that breaks a rule",
    "HTTP/1.1 103 X\nno field\n\nHTTP/1.1 204 X\n\n",
    [204, "", true],
  ],
  ["a 2xx head without an end", `${OK}X: ${x(HEAD_BYTES_MAX)}`, [200, "", false]],
  [
    "an error with two lengths",
    "HTTP/1.1 500 X\nContent-Length: 2\nContent-Length: 3\n\nok",
    "faulty",
  ],
  ["an error with an invalid field", "HTTP/1.1 500 X\nhello\n\n", "faulty"],
  ["a long 2xx head", `${OK}X: ${x(HEAD_BYTES_MAX)}\n\nbody`, [200, "", false]],
  ["a long 2xx reason phrase", `HTTP/1.1 202 ${x(HEAD_BYTES_MAX)}\n\n`, [202, "", false]],
  [
    "a body beyond the limit",
    `${OK}Content-Length: 999999\n\n${x(BODY_BYTES_MAX + 1)}`,
    [200, x(BODY_KEPT_BYTES), false],
  ],
  [
    "a body at the limit",
    `${OK}Content-Length: ${BODY_BYTES_MAX}\n\n${x(BODY_BYTES_MAX)}`,
    [200, x(BODY_KEPT_BYTES), true],
  ],
];

describe("the parser of webhook responses", () => {
  for (const [name, lines, expected] of CASES) {
    it(`${name}: ${typeof expected === "string" ? expected : "parsed"}`, () => {
      const octets = octetsOf(lines);
      expect(read(octets), "whole").to.deep.equal(expected);
      expect(read(octets, byteByByte(octets)), "byte by byte").to.deep.equal(expected);
      const halves = octets.length < 2000 ? byteByByte(octets) : [];
      for (const at of halves) {
        expect(read(octets, [at]), `cut at ${at}`).to.deep.equal(expected);
      }
    });
  }

  /** A head of exactly `bytes` octets, its empty line included. */
  function headOf(status: number, bytes: number): Buffer {
    const around = `HTTP/1.1 ${status} X\nX: \n\n`;
    const fill = x(bytes - octetsOf(around).length);
    return octetsOf(around.replace("X: ", `X: ${fill}`));
  }

  it("parses a head of 16 KiB, and rejects a longer one unless its status is 2xx", () => {
    for (const [status, bytes, expected] of [
      [204, HEAD_BYTES_MAX, [204, "", true]],
      [500, HEAD_BYTES_MAX + 1, "faulty"],
      [204, HEAD_BYTES_MAX + 1, [204, "", false]],
      [204, HEAD_BYTES_MAX + 2, [204, "", false]],
      [204, HEAD_BYTES_MAX + 3, [204, "", false]],
      [204, HEAD_BYTES_MAX + 4, [204, "", false]],
    ] as const) {
      const octets = headOf(status, bytes);
      for (const cuts of [[], [1], [HEAD_BYTES_MAX], byteByByte(octets)]) {
        expect(read(octets, cuts), `${status} with ${bytes} octets`).to.deep.equal(expected);
      }
    }
  });

  it("knows a 2xx as soon as its status line is complete, and ends with the connection", () => {
    for (const [lines, expected] of [
      ["HTTP/1.1 200 OK", "faulty"],
      ["HTTP/1.1 200 OK\n", [200, "", false]],
      [`${interims(1)}${OK}Content-`, [200, "", false]],
      ["HTTP/1.1 500 X\nContent-", "faulty"],
      ["HTTP/1.1 102 X\nContent-", "faulty"],
    ] as const) {
      const octets = octetsOf(lines);
      for (const cuts of [[], byteByByte(octets)]) {
        expect(read(octets, cuts, true), lines).to.deep.equal(expected);
      }
    }
  });

  it("accepts LF alone as a line end in a head, and does not reuse that connection", () => {
    for (const [text, expected] of [
      ["HTTP/1.1 200 OK\nContent-Length: 2\n\nok", [200, "ok", false]],
      ["HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\nok", [200, "ok", false]],
      ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok", [200, "ok", false]],
      ["HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nok", [200, "ok", false]],
      ["HTTP/1.1 204 X\n\n", [204, "", false]],
      [`HTTP/1.1 200 OK\nX: ${x(HEAD_BYTES_MAX)}\n\n`, [200, "", false]],
      ["HTTP/1.1 500 X\nContent-Length: 2\n\nno", [500, "no", false]],
    ] as const) {
      const octets = Buffer.from(text);
      expect(read(octets), text).to.deep.equal(expected);
      expect(read(octets, byteByByte(octets)), text).to.deep.equal(expected);
    }
  });

  it("rejects LF alone as a line end among chunks", () => {
    expect(read(octetsOf(`${CHUNKED}2\n`).subarray(0, -2))).to.equal("unfinished");
    expect(read(Buffer.concat([octetsOf(CHUNKED), Buffer.from("2\n")]))).to.equal("faulty");
  });

  it("ends only a response without a length with its connection", () => {
    const ended = (lines: string) => read(octetsOf(lines), [], true);
    expect(ended(`${OK}\nhello`)).to.deep.equal([200, "hello", false]);
    expect(ended(`${OK}\n`)).to.deep.equal([200, "", false]);
    expect(ended("HTTP/1.0 503 X\n\nlater")).to.deep.equal([503, "later", false]);
    expect(ended(`${OK}Transfer-Encoding: gzip\n\nx`)).to.deep.equal([200, "x", false]);
    const truncated = ["", "HTTP/1.1 2", `${OK}Content-Length: 5\n\nhell`, `${CHUNKED}2\nok\n`];
    for (const lines of truncated) expect(ended(lines), lines).to.equal("faulty");
    expect(ended(`${OK}Content-Length: 2\n\nok`)).to.deep.equal([200, "ok", true]);
  });

  it("knows the status before the body, and keeps it when the body breaks off", () => {
    const parser = new ResponseParser();
    parser.push(octetsOf("HTTP/1.1 100 Continue\n\n"));
    expect(parser.httpStatus).to.equal(0);
    parser.push(octetsOf("HTTP/1.1 500 X\nContent-Length: 5\n\nhe"));
    expect(parser.httpStatus).to.equal(500);
    parser.end();
    expect([parser.isFaulty, parser.httpStatus]).to.deep.equal([true, 500]);
  });

  it("reads how long the server keeps the connection", () => {
    const hint = (value: string) => {
      const parser = new ResponseParser();
      parser.push(octetsOf(`HTTP/1.1 204 X\nKeep-Alive: ${value}\n\n`));
      return parser.keepAliveMs;
    };
    expect(hint("timeout=5, max=100")).to.equal(5000);
    expect(hint("max=100,TIMEOUT = 15")).to.equal(15_000);
    expect(hint("max=100")).to.equal(undefined);
    expect(hint("idletimeout=5")).to.equal(undefined);
  });

  it("keeps the start of a body, and shows invalid UTF-8 as replacement characters", () => {
    const body = Buffer.concat([Buffer.of(0xff), Buffer.alloc(2000, "é")]);
    const octets = Buffer.concat([octetsOf(`${OK}Content-Length: ${body.length}\n\n`), body]);
    const expected = [200, body.subarray(0, BODY_KEPT_BYTES).toString("utf8"), true];
    expect(read(octets)).to.deep.equal(expected);
    expect(read(octets, byteByByte(octets))).to.deep.equal(expected);
  });

  it("parses a response alike in any pieces", () => {
    const line = fc.constantFrom(
      ...["Date: x", "Content-Length: 5", "Transfer-Encoding: chunked", "Connection: close"],
      ...["Connection: keep-alive", "Keep-Alive: timeout=3", " folded", "bad", "X: y"],
    );
    const answers = fc.record({
      start: fc.constantFrom(OK, "HTTP/1.0 200 X\n", "HTTP/1.1 100 X\n\nHTTP/1.1 503\n", "HTTP"),
      lines: fc.array(line, { maxLength: 4 }),
      body: fc.constantFrom("", "hello", "5\nhello\n0\n\n", "3;a\nabc\n0\nT: 1\n\n", "4\nhello\n"),
      rest: fc.constantFrom("", "x", "\n"),
    });
    fc.assert(
      fc.property(
        answers,
        fc.array(fc.nat(200), { maxLength: 6 }),
        fc.boolean(),
        ({ start, lines, body, rest }, cuts, ends) => {
          const octets = octetsOf(
            `${start}${lines.map((one) => `${one}\n`).join("")}\n${body}${rest}`,
          );
          const within = cuts.map((at) => Math.min(at, octets.length)).sort((a, b) => a - b);
          expect(read(octets, within, ends)).to.deep.equal(read(octets, [], ends));
        },
      ),
      { numRuns: 1000 },
    );
  });
});
