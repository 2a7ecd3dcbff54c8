import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { HttpSettingsSchema } from "../../../proto/gen/sms/v1/routing_pb.js";
import {
  type CallbackListener,
  startCallbackListener,
} from "../../../services/carrier/adapters/callback-listener.ts";
import { makeInboundUrl } from "../../../services/carrier/domain/http-inbound.ts";
import type { InboundPart } from "../../../services/carrier/domain/inbound-part.ts";
import { makeReceiptUrl } from "../../../services/carrier/domain/receipt-url.ts";

const SECRET = "a secret of these tests";
const MESSAGE = "msg_01JD8031234567ABCDEFGHJKMN";
const SETTINGS = create(HttpSettingsSchema, {
  receiptSecret: SECRET,
  receiptStatusPointer: "/state",
  receiptStatuses: { OK: "delivered", NO: "absent_subscriber" },
  ...{ inboundFromPointer: "/msisdn", inboundToPointer: "/short~1code" },
  ...{ inboundBodyPointer: "/text", inboundIdPointer: "/id" },
  ...{ inboundReferencePointer: "/ref", inboundTotalPointer: "/of", inboundSequencePointer: "/no" },
});
/** Of the release before: routing gives no pointers. */
const PLAIN = create(HttpSettingsSchema, { receiptSecret: SECRET });

describe("receipts of carriers that speak HTTP", () => {
  let listener: CallbackListener;
  let taken: string[];
  let messages: (InboundPart & { connectorId: string })[];
  let isAway: boolean;

  beforeEach(async () => {
    taken = [];
    messages = [];
    isAway = false;
    listener = await startCallbackListener({
      host: "127.0.0.1",
      port: 0,
      clock: { now: () => 1 },
      findSettings: (id) =>
        id === "web" ? SETTINGS : id === "plain" ? PLAIN : id === "soon" ? "not_read" : undefined,
      async onReceipt({ messageId, verdict, errorCode }) {
        if (isAway) throw new Error("nothing can be stored");
        taken.push(`${messageId} ${verdict} ${errorCode}`);
      },
      async onInbound(connectorId, part) {
        if (isAway) throw new Error("nothing can be stored");
        messages.push({ connectorId, ...part });
      },
    });
  });
  afterEach(() => listener.close());

  const urlOf = (connectorId: string, secret = SECRET) =>
    makeReceiptUrl(
      `http://127.0.0.1:${listener.port}`,
      { connectorId, messageId: MESSAGE },
      secret,
    );
  const post = async (url: string, body: string, method = "POST") =>
    (await fetch(url, { method, ...(method === "POST" ? { body } : {}) })).status;

  it("an HTTP receipt is answered after the matcher has taken it", async () => {
    expect(await post(urlOf("web"), '{"state":"OK"}')).to.equal(204);
    expect(await post(urlOf("web"), '{"state":"NO"}')).to.equal(204);
    expect(taken).to.deep.equal([
      `${MESSAGE} delivered `,
      `${MESSAGE} undelivered absent_subscriber`,
    ]);
  });

  for (const [what, url, body, status] of [
    ["a connector that does not exist", () => urlOf("other"), '{"state":"OK"}', 404],
    ["a connector that is not known yet", () => urlOf("soon"), '{"state":"OK"}', 503],
    ["a signature for another address", () => urlOf("web", "x"), '{"state":"OK"}', 404],
    ["another path", () => `http://127.0.0.1:${listener.port}/receipts`, "", 404],
    ["a body without a status", () => urlOf("web"), "{}", 422],
    ["a status that is in no table", () => urlOf("web"), '{"state":"toString"}', 422],
    ["a body that is no document", () => urlOf("web"), "{", 422],
    ["a body beyond all measure", () => urlOf("web"), "x".repeat(1_000_000), 413],
  ] as const) {
    it(`${what} is answered with ${status}, and nothing is taken`, async () => {
      expect(await post(url(), body)).to.equal(status);
      expect(taken).to.deep.equal([]);
    });
  }

  it("the connection of an HTTP receipt with an unknown URL closes after its answer", async () => {
    const { headers } = await fetch(urlOf("other"), { method: "POST" });
    expect(headers.get("connection")).to.equal("close");
  });

  it("only POST is accepted for an HTTP receipt", async () => {
    expect(await post(urlOf("web"), "", "GET")).to.equal(405);
  });

  it("an HTTP receipt that cannot be stored gets an error, so that the carrier repeats it", async () => {
    isAway = true;
    expect(await post(urlOf("web"), '{"state":"OK"}')).to.equal(503);
    isAway = false;
    expect(await post(urlOf("web"), '{"state":"OK"}')).to.equal(204);
  });

  describe("a message from a handset", () => {
    const inboundUrl = (connectorId: string, secret = SECRET) =>
      makeInboundUrl(`http://127.0.0.1:${listener.port}`, connectorId, secret);
    const callback = { msisdn: "2348031234567", "short/code": 2442, text: "Bonjour 😀", id: "m-1" };

    it("is answered with 200 after it was taken, with the fields that the pointers name", async () => {
      expect(await post(inboundUrl("web"), JSON.stringify(callback))).to.equal(200);
      expect(messages).to.deep.equal([
        {
          ...{ connectorId: "web", from: "2348031234567", to: "2442", body: "Bonjour 😀" },
          ...{ encoding: "ucs2", reference: 0, total: 1, sequence: 1, carrierMessageId: "m-1" },
        },
      ]);
    });

    it("may be a form, in UTF-8, and its pointers have defaults", async () => {
      const body = new URLSearchParams({ from: "+234803", to: "2442", text: "Grüße" });
      const response = await fetch(inboundUrl("plain"), { method: "POST", body });
      expect(response.status).to.equal(200);
      expect(messages[0]).to.include({ from: "+234803", body: "Grüße", encoding: "gsm7" });
      expect(messages[0]).to.include({ total: 1, carrierMessageId: "" });
    });

    it("may be a part, under a reference that is any text", async () => {
      for (const [ref, no] of [
        ["a7", 1],
        ["a7", "2"],
        [7, 1],
      ]) {
        const part = { ...callback, ref, of: "2", no };
        expect(await post(inboundUrl("web"), JSON.stringify(part))).to.equal(200);
      }
      const [first, second, other] = messages;
      expect(first).to.include({ total: 2, sequence: 1 });
      expect(second).to.include({ total: 2, sequence: 2, reference: first?.reference });
      expect(other).to.include({ reference: 7 });
      expect(first?.reference).to.be.within(1, 0x7fffffff);
    });

    for (const [what, url, body, status] of [
      ["for a connector that does not exist", () => inboundUrl("other"), callback, 404],
      ["for a connector that is not known yet", () => inboundUrl("soon"), callback, 503],
      ["with a signature for another address", () => inboundUrl("web", "x"), callback, 404],
      [
        "with the signature of a receipt",
        () => inboundUrl("web").replace(/[0-9a-f]{64}$/, urlOf("web").slice(-64)),
        callback,
        404,
      ],
      ["without a sender", () => inboundUrl("web"), { ...callback, msisdn: undefined }, 422],
      ["without a number", () => inboundUrl("web"), { ...callback, "short/code": "no" }, 422],
      ["without a text", () => inboundUrl("web"), { ...callback, text: null }, 422],
      ["beyond all measure", () => inboundUrl("web"), { text: "x".repeat(1_000_000) }, 413],
    ] as const) {
      it(`${what} is answered with ${status}, and nothing is taken`, async () => {
        expect(await post(url(), JSON.stringify(body))).to.equal(status);
        expect(messages).to.deep.equal([]);
      });
    }

    it("that cannot be stored gets an error, so that the carrier repeats it", async () => {
      isAway = true;
      expect(await post(inboundUrl("web"), JSON.stringify(callback))).to.equal(503);
      expect(await post(inboundUrl("web"), "{}", "GET")).to.equal(405);
    });
  });
});
