/** Throttling statuses for certain numbers keep no other message back; a throttled carrier is used to its capacity. */
import { expect } from "chai";
import { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type Message,
  MessageSource,
  MessageStatus,
  SendEndpoint,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { type CarrierStack, startCarrierStack } from "../../support/carrier-stack.ts";
import { recipient } from "../../support/customer.ts";
import { eventually } from "../../support/poll.ts";
import { addTenant } from "../../support/second-tenant.ts";

const WINDOW = 10;
/** The simulator refuses numbers of this prefix; ordinary recipients have another. */
const REFUSED = "234809";

describe("throttling statuses of a carrier", () => {
  let carrier: CarrierStack;
  let other: string;
  let serial = 0;

  before(async function () {
    this.timeout(120_000);
    carrier = await startCarrierStack();
    other = await addTenant(carrier.stack, "Other");
    const smpp = { window: WINDOW };
    const connector = { id: "smsc", smpp };
    await carrier.routing.updateConnector({ id: "smsc", connector, fields: ["smpp.window"] });
  });

  after(async function () {
    this.timeout(30_000);
    await carrier?.stop();
  });

  afterEach(async () => {
    await carrier.behave({ reset: true });
  });

  function next(): number {
    serial += 1;
    return serial;
  }
  const ordinary = (count: number) => Array.from({ length: count }, () => recipient(next()));
  const refusedNumbers = (count: number) =>
    Array.from({ length: count }, () => `+${REFUSED}${String(next()).padStart(7, "0")}`);

  /** Sends to many recipients at once, in bulk; returns the ids. */
  async function sendBulk(to: readonly string[], tenantId = carrier.stack.tenant_id) {
    const { entries } = await carrier.messaging.sendMessages({
      tenantId,
      mode: Mode.LIVE,
      source: MessageSource.API,
      endpoint: SendEndpoint.BULK,
      from: carrier.stack.sender_id,
      body: "hello",
      recipients: to.map((one) => ({ to: one })),
    });
    return entries.map(({ id }) => id);
  }

  async function sendOne(to: string, tenantId: string): Promise<string> {
    const { message } = await carrier.messaging.sendMessages({
      tenantId,
      mode: Mode.LIVE,
      source: MessageSource.API,
      endpoint: SendEndpoint.SINGLE,
      from: carrier.stack.sender_id,
      body: "hello",
      recipients: [{ to }],
    });
    return message?.id ?? "";
  }

  const read = async (ids: readonly string[], tenantId = carrier.stack.tenant_id) =>
    await Promise.all(
      ids.map(async (messageId) => {
        const { message } = await carrier.messaging.getMessage({ tenantId, messageId });
        return message as Message;
      }),
    );

  /** The submits of these numbers that the simulator has accepted. */
  async function acceptedOf(numbers: readonly string[]): Promise<number> {
    const { submits } = await carrier.counts();
    const accepted = numbers.map((number) => submits[number.slice(1)]);
    return accepted.filter((counts) => counts !== undefined && counts.total > counts.refused)
      .length;
  }

  /**
   * Waits until the numbers' messages are accepted; returns the longest time from acceptance to submit, in
   * milliseconds. It asks the simulator, because a thousand reads of messages would slow the stack.
   */
  async function longestWait(
    numbers: readonly string[],
    ids: readonly string[],
    tenantId?: string,
  ): Promise<number> {
    await eventually(async () => (await acceptedOf(numbers)) === numbers.length, {
      ...{ timeoutMs: 30_000, what: "the submit of every message" },
    });
    const messages = await eventually(async () => {
      const all = await read(ids, tenantId);
      return all.every(({ sentAtMs }) => sentAtMs > 0n) ? all : undefined;
    });
    return Math.max(...messages.map(({ sentAtMs, createdAtMs }) => Number(sentAtMs - createdAtMs)));
  }

  async function countOf(ids: readonly string[], status: MessageStatus): Promise<number> {
    const all = await read(ids);
    return all.filter((message) => message.status === status).length;
  }

  for (const [fault, count] of [
    ["queue_full", 40],
    ["queue_full", 5],
    ["throttle", 40],
    ["throttle", 5],
  ] as const) {
    it(`${count} numbers with ${fault} keep no other message back`, async function () {
      this.timeout(90_000);
      await carrier.behave({ faults: { [fault]: { numbers: REFUSED } } });
      const numbers = refusedNumbers(count);
      const stuck = await sendBulk(numbers);
      await eventually(async () => {
        const { submits } = await carrier.counts();
        return numbers.every((number) => submits[number.slice(1)] !== undefined);
      });
      const numbersOfBulk = ordinary(100);
      const single = recipient(next());
      const [bulk, id] = await Promise.all([sendBulk(numbersOfBulk), sendOne(single, other)]);
      const singleMs = await longestWait([single], [id], other);
      const bulkMs = await longestWait(numbersOfBulk, bulk);
      expect(singleMs, "a single message of another tenant").below(1000);
      expect(bulkMs, "a hundred bulk messages of the same tenant").below(2000);
      expect(await countOf(stuck, MessageStatus.QUEUED)).to.equal(count);
      await carrier.behave({ reset: true });
      await carrier.settled(stuck, 60_000);
      expect((await carrier.counts()).duplicates).to.equal(0);
    });
  }

  for (const [name, limitStatus] of [
    ["ESME_RTHROTTLED", 0x58],
    ["ESME_RMSGQFUL", 0x14],
  ] as const) {
    it(`a carrier that answers ${name} beyond a rate is used to its capacity`, async function () {
      this.timeout(120_000);
      const rate = 50;
      await carrier.behave({ rate_per_second: rate, limit_status: limitStatus });
      const before = await carrier.counts();
      const ids = await sendBulk(ordinary(rate * 20));
      const startedMs = performance.now();
      const acceptedSince = async () => {
        const { total, refused } = await carrier.counts();
        return total - refused - (before.total - before.refused);
      };
      await eventually(async () => (await acceptedSince()) === ids.length, {
        ...{ timeoutMs: 60_000, everyMs: 50, what: "the accept of every message" },
      });
      const perSecond = (ids.length * 1000) / (performance.now() - startedMs);
      await carrier.settled(ids, 60_000);
      const after = await carrier.counts();
      expect(perSecond, "messages per second").above(0.9 * rate);
      expect(after.refused - before.refused, "refused submits").below(0.35 * ids.length);
      expect(after.duplicates).to.equal(0);
    });
  }
});
