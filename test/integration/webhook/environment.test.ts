/** Environment variables that must not change the destination or the trust of requests. */
import { createServer, type Server, type Socket } from "node:net";
import { expect } from "chai";
import { newId } from "../../../services/shared/core/ids.ts";
import { useClosers } from "../../support/closers.ts";
import { freshDatabase } from "../../support/fresh-names.ts";
import { eventually } from "../../support/poll.ts";
import { startServers, type TestServers } from "../../support/servers.ts";
import {
  messageEvent,
  openWebhookStores,
  publishEvents,
  testCertificates,
  webhookSettings,
} from "../../support/webhook-harness.ts";
import { startWebhookProcess, type WebhookProcess } from "../../support/webhook-process.ts";
import { type Receiver, startReceiver } from "../../support/webhook-receiver.ts";

describe("a webhook process in a hostile environment", function () {
  this.timeout(60_000);
  const certificates = testCertificates();
  const strangers = testCertificates();
  const keep = useClosers();
  let servers: TestServers;
  let stores: Awaited<ReturnType<typeof openWebhookStores>>;
  let receiver: Receiver;
  let stranger: Receiver;
  let proxy: Server;
  let webhook: WebhookProcess;
  const proxied: string[] = [];

  before(async () => {
    servers = keep(await startServers(), (opened) => opened.stop());
    const prefix = freshDatabase("webhook");
    stores = keep(await openWebhookStores(servers, prefix), (opened) => opened.close());
    receiver = keep(await startReceiver(certificates), (opened) => opened.close());
    stranger = keep(await startReceiver(strangers), (opened) => opened.close());
    proxy = createServer((socket: Socket) => {
      socket.once("data", (data) => {
        proxied.push(data.toString("latin1").split("\r\n", 1)[0] ?? "");
        socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
      });
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as { port: number }).port}`;
    const names = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy"];
    keep(proxy, (opened) => opened.close());
    webhook = await startWebhookProcess({
      ...webhookSettings(servers, prefix, [receiver.port, stranger.port], certificates.caFile),
      ...Object.fromEntries([...names, "all_proxy"].map((name) => [name, proxyUrl])),
      // No host is exempt from the proxy, and Node must use it.
      NO_PROXY: "",
      no_proxy: "",
      NODE_USE_ENV_PROXY: "1",
      // gRPC and NATS connections of the process use these variables; the HTTP client must not.
      NO_GRPC_PROXY: "127.0.0.1,localhost",
      no_grpc_proxy: "127.0.0.1,localhost",
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
    });
    keep(webhook, (opened) => opened.stop());
  });

  /** Sends one event to a URL and returns the first attempt of the log. */
  async function firstAttempt(url: string) {
    const tenantId = newId("tenant");
    const { endpoint } = await webhook.client.createEndpoint({ tenantId, url });
    await publishEvents(stores.nats, [messageEvent(tenantId)]);
    return eventually(async () => {
      const key = { tenantId, endpointId: endpoint?.id ?? "" };
      return (await webhook.client.listDeliveries(key)).deliveries[0]?.attempts[0];
    });
  }

  it("sends straight to the endpoint and to no proxy of the environment", async () => {
    expect(await firstAttempt(receiver.url("/direct"))).to.include({ error: "", httpStatus: 204 });
    expect(receiver.at("/direct").length).to.equal(1);
    expect(proxied).to.deep.equal([]);
  });

  it("verifies certificates although the environment disables it", async () => {
    expect(await firstAttempt(stranger.url("/stranger"))).to.include({ error: "tls" });
    expect(stranger.received).to.deep.equal([]);
  });
});
