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
const LINK_DELAYS_MS = { "inside its transaction": 200, "outside a transaction": 2000 };
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
  const nothingHeld = (timeoutMs: number) =>
    eventually(async () => (await balance()).held === "0.0000", {
      what: "nothing held",
      timeoutMs,
      everyMs: 200,
    });

  for (const [where, delayMs] of Object.entries(LINK_DELAYS_MS)) {
    it(`${where} is back in the balance within a minute of the kill`, async () => {
      await nothingHeld(20_000);
      const before = await balance();
      link.setMode({ kind: "slow", delayMs });
      const send = { to: "+2348031234567", from: stack.sender_id, body: "lost" };
      const sent = callRest(stack.gateway, "POST", "/v1/sms/messages", {
        apiKey: stack.api_key,
        body: send,
      });
      await eventually(async () => (await balance()).held !== "0.0000", {
        what: "a hold",
        everyMs: 5,
      });
      await stack.kill("messaging");
      const killedMs = performance.now();
      link.setMode({ kind: "open" });
      expect((await sent).status).to.equal(503);
      await stack.restart("messaging");
      expect((await balance()).held).not.to.equal("0.0000");

      await nothingHeld(PROMISE_MS - (performance.now() - killedMs));
      expect(await balance()).to.deep.equal(before);
    });
  }
});
