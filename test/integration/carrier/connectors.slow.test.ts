/** Connectors at run time: added, changed, paused, drained, removed, of each type, beside running traffic. */
import { expect } from "chai";
import {
  type Connector,
  ConnectorState,
  ConnectorType,
} from "../../../proto/gen/sms/v1/routing_pb.js";
import { type CarrierStack, startCarrierStack } from "../../support/carrier-stack.ts";
import { type HttpCarrier, startHttpCarrier } from "../../support/http-carrier.ts";
import { watchPauses } from "../../support/machine-pauses.ts";
import { eventually } from "../../support/poll.ts";
import { smsctl } from "../../support/smsctl.ts";

const DELIVERED = "queued sent delivered";

describe("connectors at run time", () => {
  let carrier: CarrierStack;
  let http: HttpCarrier;
  let serial = 0;

  const numberIn = (opening: string) => {
    serial += 1;
    return `${opening}${String(serial).padStart(4, "0")}`;
  };
  const setState = (id: string, state: ConnectorState) =>
    carrier.routing.updateConnector({ id, connector: { id, state }, fields: ["state"] });
  const until = (id: string, path: string) =>
    eventually(async () => expect(await carrier.path(id)).to.equal(path) && true, {
      timeoutMs: 15_000,
      what: path,
    });

  before(async function () {
    this.timeout(120_000);
    carrier = await startCarrierStack({ SUBMISSION_UNKNOWN_WAIT_MS: "5000" });
    http = await startHttpCarrier();
  });

  after(async function () {
    this.timeout(30_000);
    await http?.close();
    await carrier?.stop();
  });

  async function linkOf(id: string): Promise<string | undefined> {
    const { health } = await carrier.routing.listConnectors({});
    return health.find(({ connectorId }) => connectorId === id)?.link;
  }

  async function oneWaits(): Promise<boolean> {
    const { queues } = await carrier.messaging.getQueueStats({});
    return queues.some(({ connectorId, waiting }) => connectorId === "smsc" && waiting === 1n);
  }

  it("a paused connector keeps its messages and its link; resumed, it sends them", async () => {
    await setState("smsc", ConnectorState.PAUSED);
    await eventually(async () => (await linkOf("smsc")) === "paused");
    const id = await carrier.send(numberIn("+234803200"));
    await eventually(oneWaits);
    expect(await carrier.path(id)).to.equal("queued");
    await setState("smsc", ConnectorState.ACTIVE);
    await until(id, DELIVERED);
  });

  it("a draining connector takes the receipts of what it has sent and claims nothing new", async () => {
    const sent = await carrier.send(numberIn("+234803200"));
    await eventually(async () => (await carrier.path(sent)) === "queued sent");
    await setState("smsc", ConnectorState.DRAINING);
    await eventually(async () => (await linkOf("smsc")) === "paused");
    await until(sent, DELIVERED);
    const later = await carrier.send(numberIn("+234803200"));
    await eventually(oneWaits);
    expect(await carrier.path(later)).to.equal("queued");
    await setState("smsc", ConnectorState.ACTIVE);
    await until(later, DELIVERED);
  });

  it("changed settings rebind the link under traffic, and nothing is lost or doubled", async function () {
    this.timeout(60_000);
    await carrier.behave({ latency_ms: 50 });
    const sending = Promise.all(
      Array.from({ length: 60 }, () => carrier.send(numberIn("+234803200"))),
    );
    for (const window of [3, 7, 30]) {
      const connector = { id: "smsc", smpp: { window } };
      await carrier.routing.updateConnector({ id: "smsc", connector, fields: ["smpp"] });
    }
    const counted = await carrier.settled(await sending);
    expect(counted).to.deep.equal({ delivered: 60 });
    expect((await carrier.counts()).duplicates).to.equal(0);
    await carrier.behave({ reset: true });
  });

  it("several binds are up at once and share the traffic", async () => {
    const connector = { id: "smsc", smpp: { binds: 3 } };
    await carrier.routing.updateConnector({ id: "smsc", connector, fields: ["smpp"] });
    await eventually(async () => (await carrier.counts()).binds === 3);
    const ids = await Promise.all(
      Array.from({ length: 30 }, () => carrier.send(numberIn("+234803200"))),
    );
    expect(await carrier.settled(ids)).to.deep.equal({ delivered: 30 });
    const { health } = await eventually(async () => {
      const listed = await carrier.routing.listConnectors({});
      const busy = listed.health.filter(
        ({ connectorId, submitted }) => connectorId === "smsc" && submitted > 0n,
      );
      return busy.length === 3 && listed;
    });
    expect(health.filter(({ connectorId }) => connectorId === "smsc").length).to.equal(3);
  });

  it("a rate is kept in every second and used", async function () {
    this.timeout(60_000);
    const connector = { id: "smsc", ratePerSecond: 50 };
    await carrier.routing.updateConnector({ id: "smsc", connector, fields: ["rate_per_second"] });
    await eventually(async () => {
      const { connectors } = await carrier.routing.listConnectors({});
      return connectors.some(({ id, ratePerSecond }) => id === "smsc" && ratePerSecond === 50);
    });
    // A message that is sent after the change shows that the carrier has read it.
    await until(await carrier.send(numberIn("+234803200")), DELIVERED);
    // A pause of the machine bunches submits. A limiter that lets more through does so in each round.
    const rounds: { readonly used: number; readonly excess: number }[] = [];
    while (rounds.length < 3 && !rounds.some(({ used, excess }) => used >= 40 && excess <= 0)) {
      rounds.push(await runAtRate(50));
    }
    const seen = JSON.stringify(rounds);
    expect(Math.min(...rounds.map(({ excess }) => excess)), seen).to.be.at.most(0);
    expect(Math.max(...rounds.map(({ used }) => used)), seen).to.be.within(40, 55);
    await carrier.routing.updateConnector({
      id: "smsc",
      connector: { id: "smsc", ratePerSecond: 0 },
      fields: ["rate_per_second"],
    });
  });

  it("an HTTP connector sends by its template, and its signed receipts settle the message", async () => {
    await addHttpRoute("web", "234802");
    const id = await carrier.send(numberIn("+234802200"), { body: 'he said "hi" {{to}}' });
    await until(id, "queued sent");
    const [request] = http.requests;
    expect(request?.headers.authorization).to.equal("Bearer carrier-key");
    expect(request?.body).to.include({ text: 'he said "hi" {{to}}', reference: id });
    const url = request?.body.callback ?? "";
    expect(
      await http.sendReceipt(
        url.replace(/.$/, (c) => (c === "0" ? "1" : "0")),
        "delivered",
      ),
    ).to.equal(404);
    expect(await http.sendReceipt(url, "no such status")).to.equal(422);
    expect(await carrier.path(id)).to.equal("queued sent");
    expect(await http.sendReceipt(url, "delivered")).to.equal(204);
    await until(id, DELIVERED);
  });

  it("only a certain refusal tries the next route; a message with a 500 is in doubt and tries none", async () => {
    await carrier.routing.createRoute({
      route: {
        name: "backup",
        connectorId: "smsc",
        enabled: true,
        priority: 50,
        prices: [{ prefix: "234802", price: 90_000n }],
      },
    });
    // Messaging takes the new table within moments of its announcement.
    http.answerWith({ status: 400 });
    await eventually(
      async () => {
        const id = await carrier.send(numberIn("+234802200"));
        await carrier.settled([id]);
        return (
          (await carrier.path(id)) === DELIVERED && (await carrier.get(id)).connectorId === "smsc"
        );
      },
      { timeoutMs: 20_000, what: "a failover to the backup route" },
    );
    http.answerWith({ status: 500 });
    const doubtful = await carrier.send(numberIn("+234802200"));
    await until(doubtful, "queued failed submission_unknown");
    http.answerWith(undefined);
  });

  it("messages that wait at an unavailable carrier are sent over the backup route", async function () {
    this.timeout(60_000);
    await http.close();
    const ids = await Promise.all(
      Array.from({ length: 20 }, () => carrier.send(numberIn("+234802200"))),
    );
    expect(await carrier.settled(ids, 45_000)).to.deep.equal({ delivered: 20 });
    expect((await carrier.get(ids[0] as string)).connectorId).to.equal("smsc");
  });

  it("smsctl turns TLS on and off", async () => {
    const add = ["--name", "secure", "--host", "127.0.0.1", "--port", "9", "--system-id", "a"];
    const added = await smsctl(
      carrier.stack,
      "connector",
      "add",
      ...add,
      "--password",
      "b",
      "--tls",
    );
    expect(added.value).to.nested.include({ "smpp.tls": true });
    const changed = await smsctl(carrier.stack, "connector", "update", "secure", "--tls=false");
    expect(changed.value)
      .to.nested.include({ "smpp.port": 9 })
      .and.not.nested.include({ "smpp.tls": true });
    await smsctl(carrier.stack, "connector", "remove", "secure");
  });

  it("a connector without routes is removed with its link; one in use is not", async () => {
    await refusedWith(() => carrier.routing.removeConnector({ id: "web" }), /web/);
    await carrier.routing.updateRoute({
      idOrName: "web",
      route: { connectorId: "smsc" },
      fields: ["connector_id"],
    });
    await carrier.routing.removeConnector({ id: "web" });
    const { connectors } = await carrier.routing.listConnectors({});
    expect(connectors.map(({ id }: Connector) => id)).to.deep.equal(["smsc", "test"]);
    const id = await carrier.send(numberIn("+234802200"));
    await until(id, DELIVERED);
  });

  /**
   * Sends the messages of five seconds. `used` is the mean rate. `excess` is the count of the busiest second above the
   * rate, less the submits that a pause like the longest of this process can bunch.
   */
  async function runAtRate(rate: number) {
    const count = 5 * rate;
    // All of them wait before the first may go: how fast they are accepted is no part of it.
    await setState("smsc", ConnectorState.PAUSED);
    await eventually(async () => (await linkOf("smsc")) === "paused");
    await fetch(new URL("/reset", carrier.stack.smsc.control), { method: "POST" });
    const ids = await Promise.all(
      Array.from({ length: count }, () => carrier.send(numberIn("+234803201"))),
    );
    const pauses = watchPauses();
    await setState("smsc", ConnectorState.ACTIVE);
    const first = await eventually(async () => {
      const { total } = await carrier.counts();
      return total > 0 && { total, atMs: performance.now() };
    });
    await eventually(async () => (await carrier.counts()).total === count, { timeoutMs: 30_000 });
    const tookS = (performance.now() - first.atMs) / 1000;
    const bunched = Math.floor(rate * pauses.end());
    const { peak_per_second: peak } = await carrier.counts();
    expect(await carrier.settled(ids)).to.deep.equal({ delivered: count });
    return { used: (count - first.total) / tookS, excess: peak - rate - bunched };
  }

  async function addHttpRoute(name: string, prefix: string): Promise<void> {
    await carrier.routing.createConnector({
      connector: {
        id: name,
        type: ConnectorType.HTTP,
        http: {
          url: http.url,
          headers: { authorization: "Bearer carrier-key" },
          receiptSecret: "a-secret-of-the-carrier",
          timeoutMs: 2000,
        },
      },
    });
    await carrier.routing.createRoute({
      route: { name, connectorId: name, enabled: true, prices: [{ prefix, price: 50_000n }] },
    });
    await eventually(async () => (await linkOf(name)) === "bound", { what: "the HTTP link" });
  }

  async function refusedWith(work: () => Promise<unknown>, text: RegExp): Promise<void> {
    const error = await work().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(Error).with.property("message").that.matches(text);
  }
});
