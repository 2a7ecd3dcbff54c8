/** The promise about a hold whose send died, with the default settings: `kill -9` between hold and commit. */
import { expect } from "chai";
import { eventually } from "../../support/poll.ts";
import { callRest } from "../../support/rest.ts";
import { startTestStack, type TestStack } from "../../support/stack.ts";
import { openTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";

/**
 * The wallet's answer takes this long, so that messaging dies between hold and commit. A batch of sends waits in its
 * transaction for half a second: with the shorter delay messaging dies inside it, and leaves it open.
 */
const LINK_DELAYS_MS = { insideTransaction: 200, outsideTransaction: 2000 };
const PROMISE_MS = 60_000;

describe("a hold whose send died", function () {
  this.timeout(180_000);
  let link: TcpProxy;
  let stack: TestStack;

  before(async () => {
    link = await openTcpProxy();
    const settings = { WALLET_GRPC: `127.0.0.1:${link.port}` };
    stack = await startTestStack({
      settings: { LOG_LEVEL: "warn" },
      processes: [
        {
          name: "services",
          services: [
            ...["wallet", "tenant", "sender-id", "routing", "carrier", "webhook", "gateway"],
            ...["campaign", "consent"],
          ],
        },
        { name: "messaging", services: ["messaging"], settings },
      ],
    });
    link.aimAt(Number(stack.grpc.wallet?.split(":")[1]));
  });
  after(async () => {
    await stack?.stop();
    await link?.close();
  });

  const balance = async () => {
    const { body } = await callRest(stack.gateway, "GET", "/v1/balance", { apiKey: stack.api_key });
    return { balance: body.data.balance, held: body.data.held };
  };
  const heldAtMost = (amount: number, timeoutMs: number) =>
    eventually(async () => Number((await balance()).held) <= amount, {
      what: `at most ${amount} held`,
      timeoutMs,
      everyMs: 200,
    });

  /** Kills messaging between the hold and the commit of a send; returns when, and what was held then. */
  async function killBeforeCommit(delayMs: number, body: string) {
    const { held: heldBefore } = await balance();
    link.setMode({ kind: "slow", delayMs });
    const sent = callRest(stack.gateway, "POST", "/v1/sms/messages", {
      apiKey: stack.api_key,
      body: { to: "+2348031234567", from: stack.sender_id, body },
    });
    const held = await eventually(
      async () => {
        const now = (await balance()).held;
        return now !== heldBefore && now;
      },
      { what: "a hold", everyMs: 5 },
    );
    await stack.kill("messaging");
    const killedMs = performance.now();
    link.setMode({ kind: "open" });
    expect((await sent).status).to.equal(503);
    await stack.restart("messaging");
    return { killedMs, held: Number(held) };
  }

  it("is back in the balance within a minute of the kill, inside its transaction and outside", async () => {
    await heldAtMost(0, 20_000);
    const before = await balance();
    const first = await killBeforeCommit(LINK_DELAYS_MS.insideTransaction, "lost");
    const both = await killBeforeCommit(LINK_DELAYS_MS.outsideTransaction, "lost ".repeat(60));
    expect(Number((await balance()).held)).to.equal(both.held);

    const ofSecond = both.held - first.held;
    expect(ofSecond).to.be.greaterThan(first.held);
    await heldAtMost(ofSecond, PROMISE_MS - (performance.now() - first.killedMs));
    await heldAtMost(0, PROMISE_MS - (performance.now() - both.killedMs));
    expect(await balance()).to.deep.equal(before);
  });
});
