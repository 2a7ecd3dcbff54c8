/** Pages of messages while time passes between them (`docs/contract.md#lists`). */
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import type { OperationPorts } from "../../../gateway/operations/all.ts";
import {
  type ListMessagesRequest,
  MessageSchema,
  MessageStatus,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../../services/shared/core/ids.ts";
import { API_KEY, openRestApp, type RestApp } from "../../support/rest-app.ts";

const NOW_MS = Date.parse("2026-11-21T12:00:00.000Z");
const HOUR_MS = 3_600_000;
const DAYS_92_MS = 92 * 24 * HOUR_MS;

describe("REST: pages", () => {
  let app: RestApp;
  let nowMs = NOW_MS;
  const asked: ListMessagesRequest[] = [];

  before(async () => {
    const messaging = {
      async listMessages(request: ListMessagesRequest) {
        asked.push(request);
        const message = create(MessageSchema, {
          id: newId("message"),
          status: MessageStatus.QUEUED,
          createdAtMs: BigInt(NOW_MS),
          updatedAtMs: BigInt(NOW_MS),
        });
        const isEmpty = request.clientReference !== "";
        return isEmpty
          ? { messages: [], hasMore: true, nextBeforeId: message.id }
          : { messages: [message], hasMore: true };
      },
    } as unknown as OperationPorts["messaging"];
    app = await openRestApp({ ports: { messaging, clock: { now: () => nowMs } } });
  });
  after(() => app?.close());
  beforeEach(() => {
    nowMs = NOW_MS;
    asked.length = 0;
  });

  async function page(query: Record<string, string>) {
    const answer = await fetch(`${app.url}/v1/messages?${new URLSearchParams(query)}`, {
      headers: { authorization: `Bearer ${API_KEY}` },
    });
    return {
      status: answer.status,
      body: (await answer.json()) as { next_cursor: string; errors: { field: string }[] },
    };
  }

  for (const [what, query] of [
    ["92 days to now", { created_after: new Date(NOW_MS - DAYS_92_MS).toISOString() }],
    [
      "12 months ago",
      { created_after: "2025-11-21T12:00:00Z", created_before: "2025-12-01T00:00:00Z" },
    ],
  ] as const) {
    it(`a time range at the limit, ${what}, can be paged to its end`, async () => {
      const first = await page(query);
      expect(first.status).to.equal(200);
      nowMs += HOUR_MS;
      const second = await page({ ...query, cursor: first.body.next_cursor });
      expect(second.status, JSON.stringify(second.body)).to.equal(200);
      const [one, two] = asked.map((request) => [request.createdAfterMs, request.createdBeforeMs]);
      expect(two, "the same window").to.deep.equal(one);
      expect((await page(query)).status, "as a first page it is over the limit").to.equal(422);
    });
  }

  it("an empty page of two filters has the cursor at which the search continues", async () => {
    const query = { from: "Acme", client_reference: "rare" };
    const first = await page(query);
    expect(first.body).to.deep.include({ data: [] });
    expect((await page({ ...query, cursor: first.body.next_cursor })).status).to.equal(200);
    const [one, two] = asked.map(({ beforeId }) => beforeId);
    expect(one).to.equal("");
    expect(two).to.match(/^msg_/);
  });

  it("a cursor does not extend the time range of its first page", async () => {
    const first = await page({ created_after: new Date(NOW_MS - HOUR_MS).toISOString() });
    const wider = { created_after: new Date(NOW_MS - 2 * DAYS_92_MS).toISOString() };
    const answer = await page({ ...wider, cursor: first.body.next_cursor });
    expect(answer.status).to.equal(422);
    expect(answer.body.errors.map(({ field }) => field)).to.deep.equal(["cursor"]);
  });
});
