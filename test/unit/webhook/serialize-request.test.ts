import { expect } from "chai";
import { serializeRequest } from "../../../services/webhook/adapters/http-client/serialize-request.ts";
import { createUrlCache } from "../../../services/webhook/app/url-cache.ts";

const TARGET = { host: "hooks.example", port: 443, path: "/a?b=c" };

describe("a serialized webhook request", () => {
  it("has host, length and connection around the caller's headers, and then the body", () => {
    expect(serializeRequest(TARGET, { "X-Id": "1", Empty: "" }, '{"a":"é☂"}')).to.equal(
      "POST /a?b=c HTTP/1.1\r\nHost: hooks.example\r\nX-Id: 1\r\nEmpty: \r\n" +
        'Content-Length: 13\r\nConnection: keep-alive\r\n\r\n{"a":"é☂"}',
    );
  });

  it("names a port other than 443", () => {
    expect(serializeRequest({ ...TARGET, port: 8443 }, {}, "")).to.include(
      "\r\nHost: hooks.example:8443\r\nContent-Length: 0\r\n",
    );
  });

  for (const path of ["", "a", "/a b", "/a\r\nX: y", "/a\n", "/é"]) {
    it(`refuses the path ${JSON.stringify(path)}`, () => {
      expect(() => serializeRequest({ ...TARGET, path }, {}, "")).to.throw(TypeError);
    });
  }

  for (const [name, value] of [
    ["X", "a\r\nY: b"],
    ["X", "a\n"],
    ["X", "\r"],
    ["X", "\0"],
    ["X", "é"],
    ["X: y\r\nZ", "a"],
    ["", "a"],
    ["X Y", "a"],
  ] as const) {
    it(`refuses the header ${JSON.stringify([name, value])}`, () => {
      expect(() => serializeRequest(TARGET, { [name]: value }, "")).to.throw(TypeError);
    });
  }
});

describe("the cache of webhook URLs", () => {
  it("parses a URL once, by the ports of its own process", () => {
    const read = createUrlCache([443]);
    const target = read("https://Hooks.example/a?b=c");
    expect(target).to.deep.equal(TARGET);
    expect(read("https://Hooks.example/a?b=c")).to.equal(target);
    expect(read("https://hooks.example:8443/")).to.equal(undefined);
    expect(createUrlCache([8443])("https://hooks.example:8443/")?.port).to.equal(8443);
  });

  it("evicts the oldest URL beyond its limit", () => {
    const read = createUrlCache([443]);
    const first = read("https://hooks.example/0");
    for (let at = 1; at <= 2001; at += 1) read(`https://hooks.example/${at}`);
    const again = read("https://hooks.example/0");
    expect(again).to.deep.equal(first);
    expect(again).not.to.equal(first);
  });
});
