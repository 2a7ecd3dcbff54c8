/** The count of gateways from a real DNS server on a socket. */
import { createSocket } from "node:dgram";
import { expect } from "chai";
import { countDnsAddresses } from "../../../gateway/rate-limit/replica-count.ts";
import { startDnsServer } from "../../support/dns-server.ts";

describe("the replica count from DNS", () => {
  it("is the larger of the A and AAAA counts", async () => {
    const { signal } = new AbortController();
    const answers = (...addresses: string[]) => startDnsServer(() => addresses);
    for (const [server, count] of [
      [await answers("10.0.0.1", "10.0.0.2", "10.0.0.3"), 3],
      [await answers("fd00::1", "fd00::2"), 2],
      [await answers("10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"), 2],
      [await answers(), 0],
      [await startDnsServer(() => ["10.0.0.1"], true), 1],
    ] as const) {
      expect(await countDnsAddresses("gateway.example", signal, [server.address])).to.equal(count);
      await server.close();
    }
  });

  it("times out when the name server is silent, and is cancelled when the gateway closes", async function () {
    this.timeout(15_000);
    const silent = createSocket("udp4");
    await new Promise<void>((resolve) => silent.bind(0, "127.0.0.1", resolve));
    const server = `127.0.0.1:${silent.address().port}`;
    const startMs = performance.now();
    const { signal } = new AbortController();
    const failed = await countDnsAddresses("gateway.example", signal, [server]).catch(
      (error) => error,
    );
    expect(failed).to.have.property("code", "ETIMEOUT");
    expect(performance.now() - startMs).to.be.below(10_000);

    const closing = new AbortController();
    const left = countDnsAddresses("gateway.example", closing.signal, [server]).catch(
      (error) => error,
    );
    closing.abort();
    expect(await left).to.have.property("code", "ECANCELLED");
    silent.close();
  });
});
