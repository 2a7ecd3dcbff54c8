/** Carriers whose message ids repeat, and receipts that write the number in other ways, through the real carrier. */
import { expect } from "chai";
import { type CarrierStack, startCarrierStack } from "../../support/carrier-stack.ts";
import { eventually } from "../../support/poll.ts";

describe("a carrier that uses a message id more than once", () => {
  let carrier: CarrierStack;
  let serial = 0;

  /** An unused number that ends with four given digits. */
  function numberTo(digits: string): string {
    serial += 1;
    return `+2348051${String(serial).padStart(2, "0")}${digits}`;
  }

  before(async function () {
    this.timeout(120_000);
    carrier = await startCarrierStack({ SCHEDULER_INTERVAL_MS: "200" });
  });
  after(async function () {
    this.timeout(30_000);
    await carrier?.stop();
  });
  afterEach(async () => {
    await carrier.behave({ reset: true });
  });

  const untilPath = (id: string, path: string) =>
    eventually(async () => (await carrier.path(id)) === path, { timeoutMs: 15_000, what: path });

  for (const number of ["as_is", "plus", "national"]) {
    it(`ends each message by the receipt with its own number, written ${number}`, async function () {
      this.timeout(40_000);
      await carrier.behave({ message_ids: "constant", receipts: { number } });
      const ends = ["9901", "0001", "9902", "0002", "9910", "0003"];
      const ids = await Promise.all(ends.map((digits) => carrier.send(numberTo(digits))));
      const codes: Record<string, string> = {
        "9901": "undelivered absent_subscriber",
        "9902": "undelivered unknown_subscriber",
        "9910": "undelivered validity_expired",
      };
      for (const [at, id] of ids.entries()) {
        await untilPath(id, `queued sent ${codes[ends[at] as string] ?? "delivered"}`);
      }
    });
  }

  it("ends no message by a receipt without a number when several have its id", async function () {
    this.timeout(40_000);
    await carrier.behave({ message_ids: "constant", receipts: { number: "none" } });
    const acknowledged = async () => (await carrier.counts()).receipts.acknowledged;
    const before = await acknowledged();
    const ids = await Promise.all(["9901", "0001"].map((digits) => carrier.send(numberTo(digits))));
    await eventually(async () => (await acknowledged()) === before + 2);
    for (const id of ids) expect(await carrier.path(id)).to.equal("queued sent");
  });

  for (const parts of ["each", "last"]) {
    it(`delivers a long message whose parts have one id, with a receipt for the ${parts} part`, async function () {
      this.timeout(40_000);
      await carrier.behave({ message_ids: "shared_by_parts", receipts: { parts } });
      const body = "€".repeat(200);
      const delivered = await carrier.send(numberTo("0004"), { body });
      const failed = await carrier.send(numberTo("9901"), { body });
      await untilPath(delivered, "queued sent delivered");
      await untilPath(failed, "queued sent undelivered absent_subscriber");
    });
  }
});
