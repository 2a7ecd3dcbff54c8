import { expect } from "chai";
import { createCampaign } from "../../../services/campaign/domain/campaign.ts";
import {
  checkCampaign,
  checkRows,
  countRows,
} from "../../../services/campaign/domain/campaign-invariants.ts";
import { EMPTY_PROGRESS } from "../../../services/campaign/domain/progress.ts";
import type { Row } from "../../../services/campaign/domain/row.ts";

const made = createCampaign({
  ...{ id: "cmp_1", tenantId: "ten_1", mode: "live", currency: "NGN", nowMs: 0 },
  content: {
    ...{ name: "Spring", from: "Acme", body: "Hello", sendAtMs: undefined },
    ...{ ratePerSecond: undefined, budget: 80_000n, quietHours: undefined },
    clientReference: undefined,
  },
});

function rowOf(index: number, changes: Partial<Row>): Row {
  return {
    ...{ rowSet: "cmp_1", index, to: `+23480300000${index}`, variables: {} },
    ...{ clientReference: undefined, status: "waiting", messageId: undefined, messageAtMs: 0 },
    ...{ held: 0n, amount: 0n, takenBack: [], error: undefined, ...changes },
  };
}

const QUEUED = rowOf(1, { status: "queued", messageId: "msg_1", held: 40_000n });
const SENT = rowOf(2, { status: "sent", messageId: "msg_2", held: 40_000n, amount: 40_000n });

describe("the check of a campaign", () => {
  it("finds nothing where the counts are those of the rows", () => {
    const progress = countRows(EMPTY_PROGRESS, [QUEUED, SENT]);
    expect(progress).to.include({ queued: 1, sent: 1, held: 40_000n, charged: 40_000n });
    expect(checkCampaign({ ...made, progress }, progress)).to.deep.equal([]);
    expect(checkRows([QUEUED, SENT, rowOf(3, {})])).to.deep.equal([]);
  });

  it("names the counts that differ", () => {
    const progress = countRows(EMPTY_PROGRESS, [QUEUED]);
    const counted = countRows(EMPTY_PROGRESS, [SENT]);
    const [breach] = checkCampaign({ ...made, progress }, counted);
    expect(breach?.invariant).to.equal(12);
    expect(breach?.what).to.include("queued, sent, held, charged");
  });

  it("finds a campaign that spends a ten-thousandth more than its budget", () => {
    const rows = [QUEUED, { ...SENT, amount: 40_001n }];
    const progress = countRows(EMPTY_PROGRESS, rows);
    const breaches = checkCampaign({ ...made, progress }, progress);
    expect(breaches.map(({ invariant }) => invariant)).to.deep.equal([11]);
  });

  it("finds a completed campaign with a queued message", () => {
    const progress = countRows(EMPTY_PROGRESS, [QUEUED]);
    const breaches = checkCampaign({ ...made, status: "completed", progress }, progress);
    expect(breaches.map(({ invariant }) => invariant)).to.deep.equal([13]);
  });

  it("finds rows whose status does not fit their message", () => {
    const wrong = [{ ...QUEUED, messageId: undefined }, rowOf(3, { messageId: "msg_3" })];
    const [breach] = checkRows(wrong);
    expect(breach?.ids).to.deep.equal(["cmp_1#1", "cmp_1#3"]);
  });
});
