import { expect } from "chai";
import { readWholeRequest } from "../../../deploy/dev/parse-http-request.ts";

const HEAD = "POST /hooks?a=1 HTTP/1.1\r\nHost: localhost:8443\r\nX-Mark:  one two \r\n";

describe("an ordinary POST in one piece", () => {
  it("is read with its headers and its bytes", () => {
    const body = Buffer.from('{"naira":"₦"}');
    const head = Buffer.from(`${HEAD}content-length: ${body.length}\r\n\r\n`);
    const read = readWholeRequest(Buffer.concat([head, body]));
    expect(read?.headers).to.deep.equal({
      host: "localhost:8443",
      "x-mark": "one two",
      "content-length": String(body.length),
    });
    expect(read?.body.equals(body)).to.equal(true);
  });

  for (const { what, text } of [
    { what: "a body that is not all there", text: `${HEAD}Content-Length: 3\r\n\r\nab` },
    { what: "more than one request", text: `${HEAD}Content-Length: 1\r\n\r\nab` },
    { what: "a head that is not all there", text: HEAD },
    { what: "no length", text: `${HEAD}\r\n` },
    {
      what: "chunks",
      text: `${HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    },
    {
      what: "a word before the body",
      text: `${HEAD}Expect: 100-continue\r\nContent-Length: 0\r\n\r\n`,
    },
    { what: "the wish to close", text: `${HEAD}Connection: close\r\nContent-Length: 0\r\n\r\n` },
    { what: "a header twice", text: `${HEAD}X-Mark: b\r\nContent-Length: 0\r\n\r\n` },
    { what: "a header that is none", text: `${HEAD}X Mark: b\r\nContent-Length: 0\r\n\r\n` },
    { what: "a length that is none", text: `${HEAD}Content-Length: +0\r\n\r\n` },
    { what: "no host", text: "POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n" },
    { what: "another method", text: "GET /events HTTP/1.1\r\nHost: a\r\n\r\n" },
    { what: "another version", text: "POST / HTTP/1.0\r\nHost: a\r\nContent-Length: 0\r\n\r\n" },
  ]) {
    it(`is not ${what}`, () => {
      expect(readWholeRequest(Buffer.from(text))).to.equal(undefined);
    });
  }
});
