import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { HttpSettingsSchema } from "../../../proto/gen/sms/v1/routing_pb.js";
import {
  type ReceiptListener,
  startReceiptListener,
} from "../../../services/carrier/adapters/receipt-listener.ts";
import { makeReceiptUrl } from "../../../services/carrier/domain/receipt-url.ts";

const SECRET = "a secret of these tests";
const MESSAGE = "msg_01JD8031234567ABCDEFGHJKMN";
const SETTINGS = create(HttpSettingsSchema, {
  receiptSecret: SECRET,
  receiptStatusPointer: "/state",
  receiptStatuses: { OK: "delivered", NO: "absent_subscriber" },
});

describe("receipts of carriers that speak HTTP", () => {
  let listener: ReceiptListener;
  let taken: string[];
  let isAway: boolean;

  beforeEach(async () => {
    taken = [];
    isAway = false;
    listener = await startReceiptListener({
      host: "127.0.0.1",
      port: 0,
      clock: { now: () => 1 },
      findSettings: (id) => (id === "web" ? SETTINGS : id === "soon" ? "not_read" : undefined),
      async onReceipt({ messageId, verdict, errorCode }) {
        if (isAway) throw new Error("nothing can be stored");
        taken.push(`${messageId} ${verdict} ${errorCode}`);
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
    ["a connector that nobody made", () => urlOf("other"), '{"state":"OK"}', 404],
    ["a connector that is not known yet", () => urlOf("soon"), '{"state":"OK"}', 503],
    ["a signature of somebody else", () => urlOf("web", "x"), '{"state":"OK"}', 404],
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
});
