/** The daily quota of test messages and campaigns (`docs/contract.md#test-mode`). */
import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import {
  CampaignResponseSchema,
  CampaignStatus,
  SendCampaignTestResponseSchema,
} from "../../../proto/gen/sms/v1/campaign_pb.js";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import { newId } from "../../../services/shared/core/ids.ts";
import { createMemoryTestQuota } from "../../support/memory-test-quota.ts";
import { API_KEY, openRestApp, type RestApp } from "../../support/rest-app.ts";

const ID = newId("campaign");
const TO = ["08031234567", "08031234568"];

describe("REST: the quota of test messages and campaigns", () => {
  let app: RestApp;
  afterEach(() => app.close());

  async function open(options: {
    readonly perDay: number;
    readonly mode?: Mode.TEST | Mode.LIVE;
    readonly campaigns: object;
  }): Promise<void> {
    const { perDay, mode = Mode.TEST, campaigns } = options;
    const caller = { mode, scopes: new Set(["campaigns:read", "campaigns:manage"]) as never };
    const testQuota = createMemoryTestQuota(perDay);
    app = await openRestApp({ caller, ports: { testQuota, campaigns: campaigns as never } });
  }

  async function post(operation: string, body: object, key?: string) {
    const answer = await fetch(`${app.url}/v1/campaigns/${ID}/${operation}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${API_KEY}`,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      body: JSON.stringify(body),
    });
    return answer.status;
  }

  const campaign = (status: CampaignStatus, waiting: number) =>
    create(CampaignResponseSchema, {
      campaign: { id: ID, status, content: {}, progress: { waiting: BigInt(waiting) } },
    });

  it("counts each recipient of a test send, and refuses the send beyond it", async () => {
    await open({
      perDay: 3,
      campaigns: { sendCampaignTest: async () => create(SendCampaignTestResponseSchema) },
    });
    expect(await post("test", { to: TO })).to.equal(202);
    expect(await post("test", { to: TO })).to.equal(429);
    expect(await post("test", { to: TO.slice(1) })).to.equal(202);
  });

  it("gives a repeated test send its stored response, also beyond the quota", async () => {
    const seen: boolean[] = [];
    await open({
      perDay: 0,
      campaigns: {
        async sendCampaignTest({ storedOnly, idempotencyKey }: Record<string, unknown>) {
          seen.push(storedOnly === true);
          return create(SendCampaignTestResponseSchema, { replayed: idempotencyKey === "known" });
        },
      },
    });
    expect(await post("test", { to: TO }, "known")).to.equal(202);
    expect(await post("test", { to: TO }, "unknown")).to.equal(429);
    expect(await post("test", { to: TO })).to.equal(429);
    expect(seen).to.deep.equal([true, true]);
  });

  it("does not count a test send that is refused or replayed", async () => {
    let isRefused = true;
    await open({
      perDay: 2,
      campaigns: {
        async sendCampaignTest() {
          if (isRefused) throw new AppError("sender_id_not_approved", "No.");
          return create(SendCampaignTestResponseSchema, { replayed: true });
        },
      },
    });
    expect(await post("test", { to: TO })).to.equal(422);
    isRefused = false;
    expect(await post("test", { to: TO }, "key")).to.equal(202);
    expect(await post("test", { to: TO }, "key")).to.equal(202);
  });

  it("counts the recipients of a test campaign at its start, and at no repeat of it", async () => {
    let status = CampaignStatus.DRAFT;
    await open({
      perDay: 5,
      campaigns: {
        getCampaign: async () => campaign(status, 3),
        startCampaign: async () => campaign(CampaignStatus.RUNNING, 3),
      },
    });
    expect(await post("start", {})).to.equal(200);
    expect(await post("start", {})).to.equal(429);
    status = CampaignStatus.RUNNING;
    expect(await post("start", {})).to.equal(200);
  });

  it("does not bind live campaigns", async () => {
    await open({
      perDay: 0,
      mode: Mode.LIVE,
      campaigns: {
        startCampaign: async () => campaign(CampaignStatus.RUNNING, 3),
        sendCampaignTest: async () => create(SendCampaignTestResponseSchema),
      },
    });
    expect(await post("start", {})).to.equal(200);
    expect(await post("test", { to: TO })).to.equal(202);
  });
});
