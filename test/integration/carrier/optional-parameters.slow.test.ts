/** Carriers that take no optional parameters, through the real carrier. */
import { expect } from "chai";
import { type CarrierStack, startCarrierStack } from "../../support/carrier-stack.ts";
import { eventually } from "../../support/poll.ts";

describe("a carrier that takes no optional parameters", () => {
  let carrier: CarrierStack;
  let serial = 0;

  before(async function () {
    this.timeout(120_000);
    carrier = await startCarrierStack({ SCHEDULER_INTERVAL_MS: "200" });
  });
  after(async function () {
    this.timeout(30_000);
    await carrier?.stop();
  });

  /** Binds again to a carrier with this behaviour; nothing that the last link learned is kept. */
  async function rebind(behaviour: object, optionalParameters = "auto"): Promise<void> {
    serial += 1;
    await carrier.behave({ reset: true, ...behaviour });
    const smpp = { longMessage: "sar", responseTimeoutMs: 5000 + serial, optionalParameters };
    const fields = ["smpp.long_message", "smpp.response_timeout_ms", "smpp.optional_parameters"];
    const { connector } = await carrier.routing.updateConnector({
      ...{ id: "smsc", connector: { id: "smsc", smpp }, fields },
    });
    expect(connector?.smpp?.optionalParameters).to.equal(optionalParameters);
    const before = (await carrier.counts()).binds;
    await eventually(async () => (await carrier.counts()).binds !== before, {
      timeoutMs: 10_000,
    }).catch(() => undefined);
    await eventually(async () => (await carrier.counts()).binds === 1, { timeoutMs: 15_000 });
  }

  async function sendSome(): Promise<Record<string, number>> {
    serial += 1;
    const before = await carrier.counts();
    const ids = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        carrier.send(`+23480${50_000_000 + serial * 100 + at}`, {
          body: "long ".repeat(at % 2 === 0 ? 1 : 50),
        }),
      ),
    );
    const settled = await carrier.settled(ids, 40_000);
    expect((await carrier.counts()).duplicates).to.equal(before.duplicates);
    return settled;
  }

  for (const status of [0x45, 0x08, 0xc0, 0xc3, 0x02, 0x401]) {
    it(`gets every message although it answers 0x${status.toString(16)} to parameters`, async function () {
      this.timeout(60_000);
      await rebind({ faults: { parameter_refused: { status } } });
      expect(await sendSome()).to.deep.equal({ delivered: 10 });
    });
  }

  it("of version 3.3 gets no parameters, though it would drop the link", async function () {
    this.timeout(60_000);
    await rebind({ interface_version: 0, faults: { parameter_drops_link: {} } });
    expect(await sendSome()).to.deep.equal({ delivered: 10 });
  });

  it("gets none with the setting never", async function () {
    this.timeout(60_000);
    await rebind({ faults: { parameter_drops_link: {} } }, "never");
    expect(await sendSome()).to.deep.equal({ delivered: 10 });
  });

  it("loses only the submits of the first link that it drops", async function () {
    this.timeout(60_000);
    await rebind({ faults: { parameter_drops_link: {} } });
    const first = await carrier.send("+2348050000001");
    await eventually(async () => (await carrier.counts()).binds === 0, { timeoutMs: 10_000 });
    await eventually(async () => (await carrier.counts()).binds === 1, { timeoutMs: 15_000 });
    expect(await sendSome()).to.deep.equal({ delivered: 10 });
    expect(await carrier.path(first)).to.equal("queued");
  });
});
