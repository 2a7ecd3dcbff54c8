/** A send that costs more than any balance is refused with `insufficient_balance`; concurrent sends are accepted. */
import { expect } from "chai";
import { AMOUNT_MAX, formatAmount, INT64_MAX } from "../../../services/shared/core/money.ts";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import { bulkSend, singleSend } from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";

const PRICE = 40_000n;

describe("sends that cost more than any account can have", () => {
  const { harness, tenant } = openMessagingSuite({
    routes: { dear: { price: AMOUNT_MAX, prefix: "49" }, alpha: { price: PRICE } },
  });

  const refusalOf = (count: number) =>
    harness.messaging.sendMessages(bulkSend(tenant, "+49151", count)).then(
      () => undefined,
      (error: unknown) => toAppError(error),
    );
  const heldNow = async () =>
    (await harness.wallets.getWallet({ tenantId: tenant.id })).wallet?.held ?? 0n;

  for (const [what, count] of [
    ["more than the largest balance", 2],
    ["nearly as much as 64 bits can say", Number(INT64_MAX / AMOUNT_MAX)],
    ["more than 64 bits can say", Number(INT64_MAX / AMOUNT_MAX) + 1],
  ] as const) {
    it(`${what}: the error has the whole amount, and nothing is held`, async () => {
      const before = await heldNow();
      const refusal = await refusalOf(count);
      expect(refusal?.code).to.equal("insufficient_balance");
      const required = formatAmount(BigInt(count) * AMOUNT_MAX);
      expect(refusal?.extra.required_amount).to.equal(required);
      expect(await heldNow()).to.equal(before);
    });
  }

  it("accepts concurrent sends as usual", async () => {
    const before = await heldNow();
    const [dear, ...others] = await Promise.all([
      refusalOf(1000),
      ...Array.from({ length: 20 }, () => harness.messaging.sendMessages(singleSend(tenant))),
    ]);
    expect(dear?.code).to.equal("insufficient_balance");
    expect(others.every(({ message }) => message !== undefined)).to.equal(true);
    expect((await heldNow()) - before).to.equal(20n * PRICE);
  });
});
