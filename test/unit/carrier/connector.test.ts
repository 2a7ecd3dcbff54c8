/** The binds of a connector in this process: no bind ever has two links. */
import { expect } from "chai";
import { createConnectorRunner } from "../../../services/carrier/app/connector.ts";
import type { Link } from "../../../services/carrier/app/link.ts";
import type { MessagingClient } from "../../../services/carrier/app/ports.ts";
import { createRecentSubmissions } from "../../../services/carrier/app/recent-submissions.ts";
import type { ClaimedMessage, Outcome } from "../../../services/carrier/domain/message.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { claimed } from "../../support/carrier-messages.ts";
import { eventually } from "../../support/poll.ts";

/** A runner over links that close when the test resolves `closes`. */
function setUp(claim: MessagingClient["claim"] = async () => ({ messages: [], more: false })) {
  const closes: (() => void)[] = [];
  const reported: Outcome[] = [];
  let links = 0;
  const createLink = (): Link => {
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
    proofWaitMs: 600_000,
    journal: { append: () => undefined, markRefused: () => undefined },
    outcomes: {
      report: ({ outcome }) => void reported.push(outcome),
      saveSubmissions: () => undefined,
      pending: 0,
      setAside: 0,
      isStuck: false,
      drain: async () => true,
    },
    recent: createRecentSubmissions(10),
    clock: createManualClock(1_000_000),
    log: createLogger("test", "silent"),
    spans: { open: () => undefined },
    messaging: { claim },
    createLink,
    onReceipt: async () => undefined,
    onInbound: async () => undefined,
  });
  return { runner, closes, reported, links: () => links };
}

describe("the binds of a connector", () => {
  it("a released bind counts as linked until its link is closed, and opens again only then", async () => {
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

  it("messages of a claim that ends after `close` return to their queue", async () => {
    const { promise, resolve } = Promise.withResolvers<{ messages: ClaimedMessage[] }>();
    const { runner, closes, reported } = setUp(async () => ({ ...(await promise), more: false }));
    runner.setOwned([0]);
    runner.setActive(true);
    const closed = runner.close(5000);
    await new Promise(setImmediate);
    expect([closes.length, reported.length], "it waits for the claim").to.deep.equal([0, 0]);
    resolve({ messages: [claimed()] });
    await eventually(() => closes.length === 1);
    expect(reported.map(({ kind, carrierCode }) => [kind, carrierCode])).to.deep.equal([
      ["not_sent", "closing"],
    ]);
    closes[0]?.();
    await closed;
  });

  it("close waits for all links, also for those released before, and opens none", async () => {
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
