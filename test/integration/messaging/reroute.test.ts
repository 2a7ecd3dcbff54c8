import { expect } from "chai";
import { MessageStatus, OutcomeKind } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { ConnectorState } from "../../../proto/gen/sms/v1/routing_pb.js";
import {
  breachesOf,
  bulkSend,
  claim,
  claimOne,
  report,
  sendWhenReady,
  show,
  singleSend,
} from "../../support/messaging-harness.ts";
import { openMessagingSuite } from "../../support/messaging-suite.ts";
import { eventually } from "../../support/poll.ts";

/** The limit of each replica for messages that wait at the new connector. */
const ROOM = 2000;
const BULK = 1000;
const MANY = 5 * BULK;

describe("messages at an unusable connector", function () {
  this.timeout(60_000);
  let telling: NodeJS.Timeout;
  const links: Record<string, string> = { alpha: "bound", beta: "bound", gamma: "bound" };

  const { harness, tenant } = openMessagingSuite({
    replicas: 2,
    routes: { alpha: {}, beta: { priority: 2, price: 30_000n }, gamma: { prefix: "44" } },
  });
  before(() => {
    telling = setInterval(() => void tellLinks(), 500);
  });
  after(() => clearInterval(telling));

  async function tellLinks(): Promise<void> {
    const health = Object.entries(links).map(([connectorId, link]) => ({
      connectorId,
      bind: "1",
      link,
    }));
    await harness.routing.reportConnectorHealth({ health });
  }
  const setState = (id: string, state: ConnectorState) =>
    harness.routing.updateConnector({ id, connector: { id, state }, fields: ["state"] });
  async function waitingAt(connectorId: string): Promise<number> {
    const { queues } = await harness.messaging.getQueueStats({});
    return Number(queues.find((queue) => queue.connectorId === connectorId)?.waiting ?? 0n);
  }
  const send = async (to = "08031234567") => {
    const request = singleSend(tenant, { recipients: [{ to }] });
    return (await sendWhenReady(harness, request)).message?.id ?? "";
  };

  it("go over the next route at its price; messages without another route stay", async () => {
    const id = await send();
    const lonely = await send("+447911123456");
    await setState("alpha", ConnectorState.PAUSED);
    await setState("gamma", ConnectorState.PAUSED);
    const claimed = await claimOne(harness, "beta");
    expect(claimed.messageId).to.equal(id);
    expect(await waitingAt("alpha")).to.equal(0);
    await report(harness, claimed, OutcomeKind.ACCEPTED);
    expect(await show(harness, tenant, id)).to.include({
      status: MessageStatus.SENT,
      connectorId: "beta",
      amount: 30_000n,
    });
    expect((await claimOne(harness, "gamma")).messageId).to.equal(lonely);
  });

  it("follows its only route to another connector, at its frozen price", async () => {
    await setState("gamma", ConnectorState.DRAINING);
    const id = await send("+447911123457");
    await harness.routing.createConnector({
      connector: { id: "delta", type: 1, smpp: { host: "h", systemId: "s", password: "p" } },
    });
    links.delta = "bound";
    await harness.routing.updateRoute({
      idOrName: "gamma-44",
      route: { connectorId: "delta", prices: [{ prefix: "44", price: 90_000n }] },
      fields: ["connector_id", "prices"],
    });
    const claimed = await claimOne(harness, "delta");
    expect(claimed.messageId).to.equal(id);
    await report(harness, claimed, OutcomeKind.ACCEPTED);
    expect(await show(harness, tenant, id)).to.include({
      status: MessageStatus.SENT,
      connectorId: "delta",
      amount: 40_000n,
    });
  });

  it("is tried over its first route again when the second refuses", async () => {
    await setState("alpha", ConnectorState.ACTIVE);
    const id = await eventually(async () => {
      const sent = await send();
      const [own] = await claim(harness, "alpha", 1);
      if (own !== undefined) await report(harness, own, OutcomeKind.NOT_SENT);
      return own?.messageId === sent && sent;
    });
    await setState("alpha", ConnectorState.PAUSED);
    const atBeta = await eventually(async () => {
      const found = await claim(harness, "beta");
      return found.find(({ messageId }) => messageId === id);
    });
    await report(harness, atBeta, OutcomeKind.REFUSED);
    expect((await claimOne(harness, "alpha")).messageId).to.equal(id);
    await setState("alpha", ConnectorState.ACTIVE);
  });

  it("moves no faster than the other connector claims when the link is lost, and stops when it is back", async () => {
    await eventually(async () => {
      await send();
      return (await claim(harness, "alpha", 1)).length === 1;
    });
    const before = (await waitingAt("alpha")) + (await waitingAt("beta"));
    for (let at = 0; at < MANY / BULK; at += 1) {
      await harness.messaging.sendMessages(bulkSend(tenant, `+234803${at}`, BULK));
    }
    links.alpha = "down";
    await eventually(async () => (await waitingAt("beta")) >= ROOM, { timeoutMs: 30_000 });
    const taken = await claim(harness, "beta", ROOM);
    await eventually(async () => (await waitingAt("beta")) >= ROOM, { timeoutMs: 30_000 });
    const left = await waitingAt("alpha");
    expect(left).to.be.greaterThan(0);
    expect(left + (await waitingAt("beta")) + taken.length).to.equal(before + MANY);
    links.alpha = "bound";
    await eventually(async () => (await send()) !== "" && (await waitingAt("alpha")) > left, {
      timeoutMs: 30_000,
    });
    const kept = await waitingAt("alpha");
    await claim(harness, "beta", ROOM);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await waitingAt("alpha")).to.equal(kept);
    expect(await breachesOf(harness)).to.deep.equal([]);
  });

  it("wait without a connector while their routes are disabled, and go when one is enabled", async () => {
    const sendAtMs = BigInt(harness.clock.now() + 90_000);
    const request = singleSend(tenant, { recipients: [{ to: "+447911123458" }], sendAtMs });
    const id = (await sendWhenReady(harness, request)).message?.id ?? "";
    const setEnabled = (enabled: boolean) =>
      harness.routing.updateRoute({
        idOrName: "gamma-44",
        route: { enabled },
        fields: ["enabled"],
      });
    await setEnabled(false);
    // Messaging has the change now: it refuses numbers of that route.
    await eventually(
      async () => (await send("+447911123459").catch(() => "refused")) === "refused",
    );
    harness.clock.advance(90_000);
    await eventually(async () => (await waitingAt("")) === 1);
    expect((await harness.messaging.listWaitingConnectors({})).connectorIds).not.to.include("");
    const { message } = await harness.messaging.getMessage({ tenantId: tenant.id, messageId: id });
    expect(message).to.include({ status: MessageStatus.QUEUED, connectorId: "" });
    await setEnabled(true);
    await eventually(async () =>
      (await claim(harness, "delta")).some(({ messageId }) => messageId === id),
    );
    expect(await breachesOf(harness)).to.deep.equal([]);
  });
});
