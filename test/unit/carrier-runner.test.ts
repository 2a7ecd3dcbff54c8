/** The binds of a connector in this process: no bind has two links, however long one takes to close. */
import { expect } from "chai";
import { createConnectorRunner } from "../../services/carrier/connector-runner.ts";
import type { Link } from "../../services/carrier/links/link.ts";
import { createRecentSubmissions } from "../../services/carrier/recent-submissions.ts";
import { createManualClock } from "../../services/shared/core/clock.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { eventually } from "../support/poll.ts";

/** A runner over links that close when the test lets them. */
function setUp() {
  const closes: (() => void)[] = [];
  let links = 0;
  const makeLink = (): Link => {
    links += 1;
    return {
      status: "bound",
      ...{ lastError: "", window: 10, inFlight: 0 },
      start: () => undefined,
      prepare: () => [],
      submit: async () => ({ kind: "not_sent", code: "no_link" }),
      keyOf: (id) => id,
      close: () =>
        new Promise((resolve) => {
          closes.push(resolve);
        }),
    };
  };
  const runner = createConnectorRunner({
    connectorId: "smsc",
    hasSingleReceipt: false,
    journal: { noteWritten: () => undefined },
    outcomes: { report: () => undefined, pending: 0, isStuck: false, drain: async () => true },
    recent: createRecentSubmissions(10),
    clock: createManualClock(1_000_000),
    log: createLogger("test", "silent"),
    messaging: { claim: async () => ({ messages: [], more: false }) },
    makeLink,
    onReceipt: async () => undefined,
    onMobileOriginated: () => undefined,
  });
  return { runner, closes, links: () => links };
}

describe("the binds of a connector", () => {
  it("a bind that is given up counts as linked until its link is closed, and is opened again only then", async () => {
    const { runner, closes, links } = setUp();
    runner.setOwned([0, 1]);
    runner.setOwned([0]);
    expect([runner.isLinked(0), runner.isLinked(1)]).to.deep.equal([true, true]);
    runner.setOwned([0, 1]);
    expect(links()).to.equal(2);
    closes[0]?.();
    await eventually(() => !runner.isLinked(1));
    runner.setOwned([0, 1]);
    expect(links()).to.equal(3);
    const closed = runner.close(0);
    await eventually(() => closes.length === 3);
    for (const close of closes) close();
    await closed;
  });

  it("it ends when all links are closed, those given up before among them, and opens none any more", async () => {
    const { runner, closes, links } = setUp();
    runner.setOwned([0, 1]);
    runner.setOwned([0]);
    let hasEnded = false;
    const closed = runner.close(0).then(() => {
      hasEnded = true;
    });
    await eventually(() => closes.length === 2);
    closes[1]?.();
    await eventually(() => !runner.isLinked(0));
    runner.setOwned([0, 1]);
    expect([hasEnded, links(), runner.isLinked(1)]).to.deep.equal([false, 2, true]);
    closes[0]?.();
    await closed;
    expect(runner.isLinked(1)).to.equal(false);
  });
});
