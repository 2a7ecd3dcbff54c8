import { expect } from "chai";
import { findLeaks } from "../../support/log-scan.ts";

const line = (value: unknown) => JSON.stringify({ level: "info", message: "sent", value });

describe("the scan of logs for forbidden texts", () => {
  const body = 'Your code is "4711"\nKeep it to yourself ✓';
  const forbidden = [{ kind: "a body", text: body }];

  for (const [form, text] of [
    ["plain within a line", `before ${body.split("\n")[1]} after`],
    ["in JSON", line(body)],
    ["in JSON within JSON", line(JSON.stringify({ body }))],
    ["in an address", line(`/send?text=${encodeURIComponent(body)}`)],
    ["in base64", line(Buffer.from(body).toString("base64"))],
    ["in base64url", line(Buffer.from(body).toString("base64url"))],
    ["in hexadecimal", line(Buffer.from(body).toString("hex"))],
  ] as const) {
    it(`finds a known text ${form}`, () => {
      expect(findLeaks(`${line("good")}\n${text}\n${line("good")}`, forbidden)).to.deep.equal([
        { kind: "a body", line: text },
      ]);
    });
  }

  for (const [kind, text] of [
    ["an E.164 number", "to +2348031234567 now"],
    ["an E.164 number", "sent to +2348031234567."],
    ["a Nigerian number", "2348031234567"],
    ["a Nigerian number", "call 08031234567."],
    ["a Nigerian number", "call 08031234567"],
    ["an API key", `key sk_live_${"a".repeat(43)}`],
    ["a webhook secret", "whsec_c2VjcmV0LW9mLXRoZS1lbmRwb2ludA=="],
    ["a bearer token", "Authorization: Bearer abcdefgh12345678"],
    ["a private key", "-----BEGIN EC PRIVATE KEY-----"],
    ["a password in an address", "mongodb://app:hunter22@db.example:27017/sms"],
  ] as const) {
    it(`finds ${kind} without being given it: ${text.slice(0, 24)}`, () => {
      expect(findLeaks(line(text), []).map((leak) => leak.kind)).to.deep.equal([kind]);
    });
  }

  it("accepts ordinary log lines", () => {
    const innocent = [
      line({ id: "msg_01JD8031234567ABCDEFGHJKMN", to: "…567", atMs: 1_780_000_000_000 }),
      line({
        time: "2026-11-21T19:08:44.123+01:00",
        took: 0.0803123456,
        nanos: "8031234567012345",
      }),
      line({ authorization: "[redacted]", url: "https://hooks.example.com:8443/a?b=c@d" }),
      line({
        uri: "mongodb://127.0.0.1:27017/?replicaSet=sms",
        pid: 234_812,
        trace: "0".repeat(32),
      }),
      line({ traceparent: "00-0803123456708031234567080312345a-b7ad6b7169203331-01" }),
    ];
    expect(findLeaks(innocent.join("\n"), forbidden)).to.deep.equal([]);
  });

  it("reports each kind of leak once per line, and rejects a text that chance would match", () => {
    const text = line(["sk_live_key-of-a-customer-000000", "sk_live_key-of-a-customer-000000"]);
    const known = { kind: "the key", text: "sk_live_key-of-a-customer-000000" };
    const kinds = findLeaks(text, [known, known]).map(({ kind }) => kind);
    expect(kinds).to.have.members(["an API key", "the key"]);
    expect(() => findLeaks("", [{ kind: "a code", text: "12345" }])).to.throw(RangeError, "a code");
  });

  it("finds thousands of texts in megabytes of log within seconds", () => {
    const texts = Array.from({ length: 20_000 }, (_, at) => ({
      kind: "a number",
      text: `the text of message ${String(at).padStart(5, "0")}`,
    }));
    const log = `${`${line("nothing to see here")}\n`.repeat(40_000)}${texts[19_999]?.text}`;
    const begunMs = performance.now();
    expect(findLeaks(log, texts)).to.have.length(1);
    expect(performance.now() - begunMs).to.be.below(8000);
  });
});
