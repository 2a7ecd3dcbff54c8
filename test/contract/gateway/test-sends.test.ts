/** The daily quota of test messages as a customer sees it (`docs/contract.md#test-mode`). */
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { SendMessagesResponseSchema } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError, type ErrorCode } from "../../../services/shared/core/errors.ts";
import { createMemoryTestQuota } from "../../support/memory-test-quota.ts";
import { API_KEY, memoryPorts, openRestApp, type RestApp } from "../../support/rest-app.ts";

const SEND = "/v1/sms/messages";

describe("REST: the quota of test messages", () => {
  let app: RestApp;
  afterEach(() => app.close());

  async function open(perDay: number, mode: Mode.TEST | Mode.LIVE, ports = {}): Promise<void> {
    const testQuota = createMemoryTestQuota(perDay);
    app = await openRestApp({ caller: { mode }, ports: { testQuota, ...ports } });
  }

  async function send(key?: string, to: string | string[] = "08031234567") {
    const answer = await fetch(`${app.url}${SEND}${Array.isArray(to) ? "/bulk" : ""}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${API_KEY}`,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      body: JSON.stringify({ to, from: "Acme", body: "Hello" }),
    });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  }

  it("refuses the first send beyond it with 429 until the next day", async () => {
    await open(2, Mode.TEST);
    expect([(await send()).status, (await send("key")).status]).to.deep.equal([202, 202]);
    const { status, headers, body } = await send();
    expect(status).to.equal(429);
    expect(body).to.include({ code: "rate_limited" });
    const toMidnightS = 86_400 - ((Date.now() / 1000) % 86_400);
    expect(Number(headers.get("retry-after"))).to.be.within(toMidnightS - 5, toMidnightS + 5);
  });

  it("counts each recipient", async () => {
    await open(2, Mode.TEST);
    const to = ["08031234567", "08031234568", "08031234569"];
    expect((await send(undefined, to)).status).to.equal(429);
    expect((await send()).status).to.equal(202);
  });

  it("does not bind live keys", async () => {
    await open(0, Mode.LIVE);
    expect((await send()).status).to.equal(202);
  });

  for (const perDay of [0, 1]) {
    it(`counts no replay, and gives a repeated request its stored response, with ${perDay} a day`, async () => {
      const stored = create(SendMessagesResponseSchema, {
        replayed: true,
        message: { id: "msg_00000000000000000000000000" },
      });
      const { messaging } = memoryPorts();
      await open(perDay, Mode.TEST, {
        messaging: { ...messaging, lookupSend: async () => ({ response: stored }) },
        sendOne: async () => stored,
      });
      for (let at = 0; at < 3; at += 1) expect((await send("key")).status).to.equal(202);
    });
  }

  for (const [code, status] of [
    ["sender_id_not_approved", 422],
    ["service_unavailable", 503],
  ] as const satisfies [ErrorCode, number][]) {
    it(`${code === "service_unavailable" ? "counts" : "does not count"} a send that ends in ${status}`, async () => {
      let isRefused = true;
      const { messaging } = memoryPorts();
      const sendOne = async (_tenantId: string, request: never) => {
        if (isRefused) throw new AppError(code, "No.");
        return messaging.sendMessages(request);
      };
      await open(1, Mode.TEST, { messaging, sendOne });
      expect((await send()).status).to.equal(status);
      isRefused = false;
      // After a 503 the messages may exist.
      expect((await send()).status).to.equal(status === 503 ? 429 : 202);
    });
  }
});
