import { expect } from "chai";
import { type Campaign, createCampaign } from "../../../services/campaign/domain/campaign.ts";
import { contentFaults } from "../../../services/campaign/domain/check-content.ts";
import { checkRow } from "../../../services/campaign/domain/check-row.ts";
import {
  budgetLeft,
  chunkSize,
  nextFeedAt,
  queueAheadMax,
} from "../../../services/campaign/domain/chunk-size.ts";
import { EMPTY_PROGRESS } from "../../../services/campaign/domain/progress.ts";
import { expandTemplate, parseTemplate } from "../../../services/campaign/domain/template.ts";
import { isFault } from "../../../services/shared/core/row-faults.ts";

const CONTENT = {
  ...{ name: "Spring", from: "Acme", body: "Hello", sendAtMs: undefined },
  ...{ ratePerSecond: undefined, budget: undefined, quietHours: undefined },
  clientReference: undefined,
};

describe("a body with placeholders", () => {
  const expand = (body: string, variables: Record<string, string>) => {
    const template = parseTemplate(body);
    return "fault" in template ? template : expandTemplate(template, variables);
  };

  for (const [body, variables, expected] of [
    ["Hello {{name}}!", { name: "Ada" }, { body: "Hello Ada!" }],
    ["{{ name }}{{name}}", { name: "A" }, { body: "AA" }],
    ["{{First Name}}", { "First Name": "Ada" }, { body: "Ada" }],
    ["no placeholder {here}", {}, { body: "no placeholder {here}" }],
    ["{{a}}", { a: "{{b}}", b: "never" }, { body: "{{b}}" }],
    ["{{a}} {{b}}", { a: "1" }, { missing: "b" }],
    ["{{a}}", { a: "" }, { body: "" }],
    ["{{toString}}", {}, { missing: "toString" }],
    ["{{}}", {}, { fault: "{{}}" }],
    ["{{a", {}, { fault: "{{a" }],
    ["a}} b", {}, { fault: "}} b" }],
    ["{{{a}}}", { a: "x" }, { body: "{x}" }],
  ] as const) {
    it(`${JSON.stringify(body)} becomes ${JSON.stringify(expected)}`, () => {
      const got = expand(body, variables);
      if ("fault" in expected) expect(got).to.have.property("fault");
      else expect(got).to.deep.equal(expected);
    });
  }
});

describe("the content of a draft", () => {
  const fields = (changes: object) =>
    contentFaults({ ...CONTENT, ...changes }, 0).map(({ field, code }) => `${field} ${code}`);

  it("is valid within its bounds", () => {
    expect(fields({})).to.deep.equal([]);
    expect(fields({ sendAtMs: 60_000, ratePerSecond: 1, budget: 1n })).to.deep.equal([]);
  });

  it("names every wrong field", () => {
    expect(
      fields({
        ...{ name: " ", from: "x", body: "", sendAtMs: 1, ratePerSecond: 0.5, budget: 0n },
        clientReference: "é",
      }),
    ).to.deep.equal([
      ...["name too_short", "from invalid_format", "body too_short", "send_at out_of_range"],
      ...["rate_per_second out_of_range", "budget_amount out_of_range"],
      "client_reference invalid_format",
    ]);
  });
});

describe("a submitted row", () => {
  const code = (row: object) => {
    const checked = checkRow({
      ...{ line: 2, to: "08030000000", variables: {}, clientReference: undefined },
      ...row,
    });
    return isFault(checked) ? `${checked.field} ${checked.code}` : checked.to;
  };
  for (const [row, expected] of [
    [{}, "+2348030000000"],
    [{ to: "" }, "to required"],
    [{ to: "2.34803E+12" }, "to scientific_notation"],
    [{ to: "2,34803e12" }, "to scientific_notation"],
    [{ to: "hello" }, "to invalid_recipient"],
    [{ clientReference: "é" }, "client_reference invalid_format"],
    [{ variables: { a: "x".repeat(1001) } }, "variables.a too_long"],
    [{ variables: { "a{": "x" } }, "variables.a{ invalid_format"],
    [{ variables: { a: "\uD800" } }, "variables.a invalid_value"],
    [
      { variables: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`v${at}`, ""])) },
      "variables too_many",
    ],
  ] as const) {
    it(`${JSON.stringify(row).slice(0, 60)}: ${expected}`, () => {
      expect(code(row)).to.equal(expected);
    });
  }
});

describe("the chunk size of a campaign", () => {
  const campaign = (changes: Partial<Campaign>): Campaign => ({
    ...createCampaign({
      ...{ id: "cmp_1", tenantId: "ten_1", mode: "live", currency: "NGN", nowMs: 0 },
      content: { ...CONTENT, ...changes.content },
    }),
    ...changes,
    content: { ...CONTENT, ...changes.content },
  });
  const waiting = (count: number, queued = 0) => ({ ...EMPTY_PROGRESS, waiting: count, queued });

  it("queues ahead what leaves the queue in ten seconds, 500 at least and 5,000 at most", () => {
    // Ten seconds, and three more because counts may be as old.
    expect([0, 38, 100, 1000].map(queueAheadMax)).to.deep.equal([500, 500, 1300, 5000]);
  });

  it("feeds chunks of 500, fewer when little waits or little room is left", () => {
    const size = (progress: ReturnType<typeof waiting>) =>
      chunkSize(campaign({ progress }), 500, 1000);
    expect(size(waiting(1000))).to.equal(500);
    expect(size(waiting(3))).to.equal(3);
    expect(size(waiting(1000, 300))).to.equal(200);
    // Too little room for a chunk that is worth it.
    expect(size(waiting(1000, 450))).to.equal(0);
    expect(size(waiting(1000, 600))).to.equal(0);
  });

  it("keeps to a rate, and makes up for one second at most", () => {
    const content = { ...CONTENT, ratePerSecond: 10 };
    const at = (nextFeedAtMs: number, nowMs: number) =>
      chunkSize(campaign({ content, progress: waiting(1000), nextFeedAtMs }), 500, nowMs);
    expect(at(10_000, 10_000)).to.equal(0);
    expect(at(10_000, 10_100)).to.equal(1);
    expect(at(0, 100_000)).to.equal(10);
    const fed = campaign({ content, progress: waiting(1000), nextFeedAtMs: 10_000 });
    expect(nextFeedAt(fed, 5, 10_500)).to.equal(10_500);
  });

  it("leaves of a budget what is neither charged nor held, nor may be held by the open chunk", () => {
    const content = { ...CONTENT, budget: 100n };
    const progress = { ...EMPTY_PROGRESS, held: 20n, charged: 30n };
    expect(budgetLeft(campaign({ content, progress, openChunkMax: 5n }))).to.equal(45n);
    expect(budgetLeft(campaign({}))).to.equal(undefined);
  });
});
