/** One address cannot take all connections without a key. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { expect } from "chai";
import { networkOf } from "../../../gateway/auth/caller-address.ts";
import { eventually } from "../../support/poll.ts";
import { API_KEY, openRestApp, type RestApp, type RestAppOptions } from "../../support/rest-app.ts";

const SHARE = 5;

describe("REST: the share of an address in the connections", () => {
  let app: RestApp;
  let sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
    await app.close();
  });

  /** Opens connections one after the other, from an address of this machine. */
  async function open(count: number, localAddress = "127.0.0.1"): Promise<Socket[]> {
    const opened: Socket[] = [];
    for (let at = 0; at < count; at += 1) {
      const socket = connect({ port: app.port, host: "127.0.0.1", localAddress });
      socket.on("error", () => undefined);
      socket.resume();
      await once(socket, "connect");
      opened.push(socket);
    }
    sockets.push(...opened);
    return opened;
  }

  const isOpen = (opened: readonly Socket[]) => opened.map(({ destroyed }) => !destroyed);

  async function start(options: RestAppOptions = {}): Promise<void> {
    app = await openRestApp({ perAddressMax: SHARE, ...options });
  }

  async function status(agent: Agent, key: string): Promise<number | undefined> {
    const options = { agent, headers: { authorization: `Bearer ${key}` } };
    const sent = get(`${app.url}/v1/messages/x`, options);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    answer.resume();
    await once(answer, "end");
    return answer.statusCode;
  }

  it("beyond the share the oldest connection is closed, and the new one is served", async () => {
    await start();
    const silent = await open(2 * SHARE);
    await eventually(() => isOpen(silent).filter(Boolean).length === SHARE);
    expect(isOpen(silent).indexOf(true)).to.equal(SHARE);
    expect(await status(new Agent(), API_KEY)).to.equal(404);
  });

  it("another address keeps its connections", async () => {
    await start();
    const other = await open(SHARE, "127.0.0.2");
    const silent = await open(SHARE + 1);
    await eventually(() => silent[0]?.destroyed);
    expect(isOpen(other)).to.deep.equal([true, true, true, true, true]);
  });

  it("a connection that has sent a valid key does not count, one with a wrong key does", async () => {
    await start();
    const [valid, wrong] = ["valid", "wrong"].map(() => new Agent({ keepAlive: true })) as [
      Agent,
      Agent,
    ];
    expect(await status(valid, API_KEY)).to.equal(404);
    expect(await status(wrong, "nothing")).to.equal(401);
    const socketOf = (agent: Agent) => Object.values(agent.freeSockets)[0]?.[0];
    const [kept, closed] = [socketOf(valid), socketOf(wrong)];
    const silent = await open(SHARE);
    await eventually(() => closed?.destroyed);
    expect(kept?.destroyed).to.equal(false);
    expect(isOpen(silent)).to.deep.equal([true, true, true, true, true]);
    valid.destroy();
    wrong.destroy();
  });

  it("an exempt address, as of a trusted proxy, has no share", async () => {
    await start({ isExempt: (address) => address === "127.0.0.1" });
    const proxied = await open(4 * SHARE);
    const other = await open(SHARE + 1, "127.0.0.2");
    await eventually(() => other[0]?.destroyed);
    expect(isOpen(proxied)).to.not.include(false);
  });

  it("closed connections give their place back", async () => {
    await start();
    for (let round = 0; round < 3; round += 1) {
      const opened = await open(SHARE);
      await eventually(async () => (await status(new Agent(), API_KEY)) === 404);
      for (const socket of opened) socket.destroy();
    }
    const last = await open(SHARE);
    expect(await status(new Agent(), API_KEY)).to.equal(404);
    expect(last.at(-1)?.destroyed).to.equal(false);
  });

  for (const [address, network] of [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "8193:3512:1:2"],
    ["2001:db8:1:2::1", "8193:3512:1:2"],
  ] as const) {
    it(`${address} shares with ${network}`, () => {
      expect(networkOf(address)).to.equal(network);
    });
  }
});
