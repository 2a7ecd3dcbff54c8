import { expect } from "chai";
import { checkCarrier } from "../../chaos/check-carrier.ts";
import { checkMessages } from "../../chaos/check-messages.ts";
import { checkMoney } from "../../chaos/check-money.ts";
import { checkLateness, checkWebhooks, givenUp } from "../../chaos/check-webhooks.ts";
import type { Sent } from "../../chaos/customers.ts";
import type { FailedDelivery, MessageRow, Open, StoredData } from "../../chaos/database-reader.ts";
import { stillOpen } from "../../chaos/drain.ts";
import type { Endpoint, Hook } from "../../chaos/receivers.ts";
import { backlogOf } from "../../chaos/webhook-backlog.ts";

const TENANT = "ten_1";
const TO = "+2348030000001";
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

const MESSAGE: MessageRow = {
  _id: "msg_1",
  tenant_id: TENANT,
  mode: "live",
  status: "delivered",
  to: TO,
  segments: 1,
  held: 60n,
  amount: 40n,
  unit_price: 40n,
  reservation_id: "rsv_1",
  client_reference: "c1",
  routes: [{ price: 40n }, { price: 60n }],
  history: [
    { status: "queued", at: at(0) },
    { status: "sent", at: at(1) },
    { status: "delivered", at: at(2) },
  ],
};

const SENT: Sent = {
  order: {
    kind: "single",
    reference: "c1",
    paths: ["/v1/sms/messages"],
    body: {},
    recipients: [{ to: TO, isGood: true }],
    isScheduled: false,
  },
  tenantId: TENANT,
  isTest: false,
  isTwin: false,
  answer: { status: 202, code: "", messages: [{ id: "msg_1", to: TO, status: "queued" }] },
};

const MOVEMENT = { tenantId: TENANT, reservationId: "", messageId: "", reference: "" };

const STORED: StoredData = {
  messages: [MESSAGE],
  sends: [{ _id: "rsv_1", tenant_id: TENANT }],
  reservations: [
    { _id: "rsv_1", tenant_id: TENANT, amount: 60n, open_amount: 0n, fenced_amount: 0n },
  ],
  settlements: [
    {
      _id: "msg_1",
      tenant_id: TENANT,
      reservation_id: "rsv_1",
      held_amount: 60n,
      captured_amount: 40n,
    },
  ],
  wallets: [{ _id: TENANT, balance: 60n, held: 0n }],
  movements: [
    { ...MOVEMENT, sequence: 1, kind: "fund", amount: 100n, reference: "first" },
    { ...MOVEMENT, sequence: 2, kind: "hold", amount: 60n, reservationId: "rsv_1" },
    { ...MOVEMENT, sequence: 3, kind: "capture", amount: 40n, messageId: "msg_1" },
    { ...MOVEMENT, sequence: 3, kind: "release", amount: 20n, messageId: "msg_1" },
  ],
  deliveries: 2,
  failedDeliveries: [],
  parked: [],
  left: {},
};

const PAYERS = [{ id: TENANT, funded: 100n }];
const message = (change: Partial<MessageRow>): StoredData => ({
  ...STORED,
  messages: [{ ...MESSAGE, ...change }],
});
const sent = (change: Partial<Sent>): Sent[] => [{ ...SENT, ...change }];
const whats = (breaches: readonly { what: string }[]) =>
  breaches.map(({ what }) => what).join("; ");

describe("the checks of a chaos run", () => {
  it("find nothing where nothing is wrong", () => {
    expect(checkMessages([SENT], [], [TENANT], STORED)).to.deep.equal([]);
    expect(checkMoney(STORED, PAYERS)).to.deep.equal([]);
    expect(carrier({ total: 2, refused: 1, duplicates: 0 })).to.deep.equal([]);
    expect(checkWebhooks([MESSAGE], [ENDPOINT], HOOKS)).to.deep.equal([]);
    expect(checkLateness([ENDPOINT], [HOOK, retry(1200)], [1000], backlogOf([]))).to.deep.equal({
      breaches: [],
      retries: 1,
      latestMs: 200,
      latestUnexplainedMs: 200,
    });
    const away = [{ fromMs: HOOK.atMs, toMs: HOOK.atMs + 40_000 }];
    const late = [HOOK, retry(1000 + 65_000)];
    expect(checkLateness([ENDPOINT], late, [1000], backlogOf(away)).breaches).to.deep.equal([]);
    expect(open({ hanging: 8 })).to.deep.equal([]);
    const unreached = givenUp([UNREACHED, failed("delivered", "timeout", "tls")], [ENDPOINT], 2);
    expect(checkWebhooks([MESSAGE], [ENDPOINT], [], unreached)).to.deep.equal([]);
    const refusedOnce = givenUp([UNREACHED, REFUSED], [FLAKY], 2);
    expect(checkWebhooks([MESSAGE], [FLAKY], [], refusedOnce)).to.deep.equal([]);
  });

  for (const [what, status, taken, said] of [
    ["a part without a receipt", "expired", 2, { delivered: 1, failed: 0, late: 0 }],
    [
      "a part that never came, after one that failed first",
      "undelivered",
      1,
      { delivered: 1, failed: 1, late: 1 },
    ],
    [
      "a part that never came, after one whose failure was overtaken",
      "expired",
      1,
      { delivered: 1, failed: 1, late: 1 },
    ],
    ["both parts late", "delivered", 2, { delivered: 2, failed: 2, late: 2 }],
  ] as const) {
    it(`find nothing wrong with ${what}`, () => {
      const counts = { total: taken, refused: 0, duplicates: 0 };
      expect(carrier(counts, status, said, 2)).to.deep.equal([]);
    });
  }

  const refused = { status: 402, code: "insufficient_balance", messages: [] };
  const cancelled = (status: number) => [{ messageId: "msg_1", answer: { status, code: "" } }];
  for (const [what, run, words] of [
    ["a 202 without its message", () => check([SENT], { ...STORED, messages: [] }), "not stored"],
    ["a refusal with an effect", () => check(sent({ answer: refused }), STORED), "yet accepted"],
    ["a key with two effects", () => check([SENT], twice()), "2 messages"],
    ["a message without a request", () => check([], STORED), "nobody asked"],
    [
      "a message of another tenant's",
      () => check(sent({ tenantId: "ten_2" }), STORED),
      "another tenant",
    ],
    [
      "a move outside the table",
      () => check([SENT], message({ history: MESSAGE.history.toSpliced(1, 1) })),
      "not in the table",
    ],
    [
      "a history that runs backwards",
      () =>
        check(
          [SENT],
          message({
            history: [...MESSAGE.history.slice(0, 2), { status: "delivered", at: at(0) }],
          }),
        ),
      "backwards",
    ],
    [
      "a message that never ends",
      () => check([SENT], message({ status: "queued" })),
      "still queued",
    ],
    [
      "a send that is fenced",
      () => check([SENT], { ...STORED, sends: [{ _id: "rsv_1", fenced: true }] }),
      "fenced",
    ],
    [
      "a cancel that was not",
      () => checkMessages([SENT], cancelled(200), [TENANT], STORED),
      "confirmed",
    ],
    [
      "a settlement that is missing",
      () => checkMoney({ ...STORED, settlements: [] }, PAYERS),
      "not settled",
    ],
    [
      "a charge above the hold",
      () => checkMoney(message({ held: 30n }), PAYERS),
      "charged 40 of 30",
    ],
    [
      "a hold that stays open",
      () => checkMoney(hold({ open_amount: 60n }), PAYERS),
      "open at the end",
    ],
    ["a hold without a send", () => checkMoney({ ...STORED, sends: [] }, PAYERS), "without a send"],
    [
      "a send without a hold",
      () => checkMoney({ ...STORED, reservations: [] }, PAYERS),
      "without its hold",
    ],
    ["a balance that is off", () => checkMoney(wallet(61n), PAYERS), "61 there"],
    [
      "a payment that is lost",
      () => checkMoney(STORED, [{ id: TENANT, funded: 150n }]),
      "150 paid in",
    ],
    [
      "a held sum below zero",
      () => checkMoney({ ...STORED, movements: STORED.movements.toSpliced(1, 1) }, PAYERS),
      "held -",
    ],
    ["a second submit", () => carrier({ total: 2, refused: 0, duplicates: 1 }), "submitted again"],
    [
      "a sent message the carrier never had",
      () => carrier({ total: 1, refused: 1, duplicates: 0 }),
      "never taken",
    ],
    ["a receipt that is lost", () => carrier(ONE, "expired"), "carrier said delivered"],
    [
      "a receipt that no carrier sent",
      () => carrier(ONE, "delivered", { delivered: 0, failed: 0, late: 0 }),
      "carrier said expired",
    ],
    [
      "a failure that is lost",
      () => carrier(ONE, "expired", { delivered: 0, failed: 1, late: 0 }),
      "carrier said undelivered",
    ],
    [
      "a failure that is lost when a late delivery follows",
      () => carrier(TWO, "expired", { delivered: 1, failed: 2, late: 1 }, 2),
      "carrier said undelivered",
    ],
    [
      "a change that was not announced",
      () => checkWebhooks([MESSAGE], [ENDPOINT], HOOKS.slice(1)),
      "never taken",
    ],
    [
      "a change that was refused and never came again",
      () => checkWebhooks([MESSAGE], [FLAKY], [...HOOKS.slice(1), { ...HOOK, answer: 503 }]),
      "sent was never taken",
    ],
    [
      "a change that was given up after one refusal",
      () => checkWebhooks([MESSAGE], [FLAKY], [], givenUp([failed("sent", "status")], [FLAKY], 2)),
      "sent was never taken",
    ],
    [
      "two ids for one change",
      () => checkWebhooks([MESSAGE], [ENDPOINT], [...HOOKS, { ...HOOK, eventId: "evt_9" }]),
      "two event ids",
    ],
    [
      "a wrong signature",
      () => checkWebhooks([MESSAGE], [ENDPOINT], [...HOOKS, { ...HOOK, isSigned: false }]),
      "signature",
    ],
    [
      "a change of a test message at a live endpoint",
      () => checkWebhooks([{ ...MESSAGE, mode: "test" }], [ENDPOINT], HOOKS),
      "about a test message",
    ],
    [
      "a change of a test message that no test endpoint took",
      () => checkWebhooks([{ ...MESSAGE, mode: "test" }], [{ ...ENDPOINT, mode: "test" }], []),
      "never taken",
    ],
    [
      "a disabled endpoint that is called",
      () => checkWebhooks([], [{ ...ENDPOINT, kind: "disabled" }], HOOKS),
      "disabled",
    ],
    [
      "a retry that comes late",
      () => checkLateness([ENDPOINT], [HOOK, retry(1000 + 35_000)], [1000], backlogOf([])).breaches,
      "35 s later than outages explain",
    ],
    [
      "retries that no process made",
      () => checkLateness([FLAKY], HOOKS, [1000], backlogOf([])).breaches,
      "no retry came",
    ],
    ["deliveries that do not end", () => open({ deliveries: 1 }), "not over"],
    ["an event without a consumer", () => open({ events: 1 }), "not over"],
    ["a receipt that its carrier could not deliver", () => open({ receipts: 1 }), "not over"],
    [
      "a change that no endpoint received while its endpoint answered",
      () => checkWebhooks([MESSAGE], [ENDPOINT], [], givenUp([UNREACHED, REFUSED], [ENDPOINT], 2)),
      "delivered was never taken",
    ],
    [
      "a change that never reached an endpoint whose 200 has no end",
      () => checkWebhooks([MESSAGE], [{ ...ENDPOINT, kind: "drip" }], []),
      "delivered was never taken",
    ],
    [
      "deliveries to a hanging endpoint that do not get fewer",
      () => open({ hanging: 9 }),
      "not over",
    ],
    [
      "another tenant's webhook",
      () => checkWebhooks([MESSAGE], [{ ...ENDPOINT, tenantId: "ten_2" }], HOOKS),
      "another tenant",
    ],
  ] as const) {
    it(`name ${what}`, () => {
      expect(whats(run())).to.include(words);
    });
  }
});

function check(list: readonly Sent[], stored: StoredData) {
  return checkMessages(list, [], [TENANT], stored);
}

function twice(): StoredData {
  return { ...STORED, messages: [MESSAGE, { ...MESSAGE, _id: "msg_2" }] };
}

function hold(change: { readonly open_amount: bigint }): StoredData {
  return {
    ...STORED,
    reservations: STORED.reservations.map((row) => ({ ...row, ...change })),
  };
}

function wallet(balance: bigint): StoredData {
  return { ...STORED, wallets: [{ _id: TENANT, balance, held: 0n }] };
}

const retry = (afterMs: number): Hook => ({ ...HOOK, attempt: 2, atMs: HOOK.atMs + afterMs });

function open(change: Partial<Open>) {
  const nothing = {
    messages: 0,
    receipts: 0,
    reservations: 0,
    deliveries: 0,
    hanging: 0,
    outbox: 0,
    events: 0,
  };
  const what = stillOpen(9, { ...nothing, ...change });
  return what === undefined ? [] : [{ what }];
}

const ONE = { total: 1, refused: 0, duplicates: 0 };
const TWO = { total: 2, refused: 0, duplicates: 0 };

function carrier(
  counts: { readonly total: number; readonly refused: number; readonly duplicates: number },
  status = "delivered",
  said = { delivered: 1, failed: 0, late: 0 },
  segments = 1,
) {
  const to = TO.slice(1);
  const counters = { submits: { [to]: counts }, reported: { [to]: said } };
  return checkCarrier([{ ...MESSAGE, status, segments }], counters).breaches;
}

const ENDPOINT: Endpoint = {
  id: "whe_1",
  tenantId: TENANT,
  mode: "live",
  kind: "ok",
  path: "/ok",
  secret: "whsec_1",
};

const FLAKY: Endpoint = { ...ENDPOINT, kind: "flaky" };

const HOOK: Hook = {
  path: "/ok",
  atMs: 0,
  isSigned: true,
  deliveryId: "whd_1",
  attempt: 1,
  eventId: "evt_1",
  tenantId: TENANT,
  messageId: "msg_1",
  status: "sent",
  previous: "queued",
  answer: 204,
};

const HOOKS: readonly Hook[] = [
  HOOK,
  { ...HOOK, deliveryId: "whd_2", eventId: "evt_2", status: "delivered", previous: "sent" },
];

const failed = (status: string, ...errors: readonly string[]): FailedDelivery => ({
  endpoint_id: "whe_1",
  attempts: errors.map((error) => ({ error })),
  body: JSON.stringify({ id: `evt_${status}`, data: { object: { id: "msg_1", status } } }),
});

const UNREACHED = failed("sent", "timeout", "connection");
const REFUSED = failed("delivered", "timeout", "status");
