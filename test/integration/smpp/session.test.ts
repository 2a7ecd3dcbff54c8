import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import { expect } from "chai";
import { encodePdu } from "../../../services/shared/smpp/codec.ts";
import type { OutgoingPdu } from "../../../services/shared/smpp/pdu.ts";
import { Session, type SessionCallbacks } from "../../../services/shared/smpp/session.ts";
import type { CloseReason, SessionOptions } from "../../../services/shared/smpp/session-options.ts";
import { eventually } from "../../support/poll.ts";
import { RawPeer } from "../../support/raw-smpp-peer.ts";

describe("SMPP session over TCP", () => {
  let server: Server;
  let sockets: Socket[] = [];

  before(async () => {
    server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    sockets = [];
  });
  after(() => void server.close());

  /** A session with its peer; the session's closing reason ends up in `closed`. */
  async function pair(
    options: Partial<SessionOptions & SessionCallbacks>,
  ): Promise<{ session: Session; peer: RawPeer; closed: CloseReason[] }> {
    const { port } = server.address() as AddressInfo;
    const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
    const socket = connect({ host: "127.0.0.1", port });
    await new Promise((resolve) => socket.once("connect", resolve));
    const peer = new RawPeer(await accepted);
    const closed: CloseReason[] = [];
    const session = new Session(socket, {
      role: "esme",
      onRequest: (pdu, from) => from.respond(pdu),
      ...options,
      onClose: (reason) => closed.push(reason),
    });
    sockets.push(socket, peer.socket);
    return { session, peer, closed };
  }

  async function bound(options: Partial<SessionOptions & SessionCallbacks> = {}) {
    const made = await pair(options);
    const outcome = made.session.bind("transceiver", { systemId: "me", password: "pw" });
    const bind = await made.peer.got("bind_transceiver");
    made.peer.send({ command: "bind_transceiver_resp", sequence: bind.sequence });
    expect(await outcome).to.have.property("kind", "answered");
    return made;
  }

  const body = { sourceAddr: "A", destinationAddr: "234", shortMessage: Buffer.from("x") };
  const submit = (session: Session, token?: string) =>
    session.request("submit_sm", body, undefined, token);

  it("a session sends no more than its window and the next request with each answer", async () => {
    const { session, peer } = await bound({ windowMax: 2 });
    const outcomes = [submit(session), submit(session), submit(session)];
    const second = await peer.got("submit_sm", 2);
    peer.send({ command: "enquire_link", sequence: 9 });
    await peer.got("enquire_link_resp");
    expect(peer.received.filter(({ command }) => command === "submit_sm")).to.have.length(2);
    peer.send({ command: "submit_sm_resp", sequence: second.sequence, body: { messageId: "b" } });
    await peer.got("submit_sm", 3);
    expect(await outcomes[1]).to.have.nested.property("response.body.messageId", "b");
  });

  it("a request beyond the queue ends as not sent", async () => {
    const { session } = await bound({ windowMax: 1, queueMax: 2 });
    const outcomes = [1, 2, 3, 4].map(() => submit(session));
    session.close();
    const kinds = (await Promise.all(outcomes)).map((outcome) =>
      outcome.kind === "not_sent" ? outcome.reason : outcome.kind,
    );
    expect(kinds.slice(2)).to.deep.equal(["queue_full", "queue_full"]);
  });

  it("on close written requests end as unknown and queued ones as not sent", async () => {
    const { session, peer, closed } = await bound({ windowMax: 1 });
    const outcomes = [submit(session), submit(session)];
    await peer.got("submit_sm");
    peer.socket.destroy();
    expect(await outcomes[0]).to.deep.equal({ kind: "unknown", reason: "closed" });
    expect(await outcomes[1]).to.deep.equal({ kind: "not_sent", reason: "closed" });
    expect(closed).to.have.length(1);
  });

  it("beforeWrite runs before the first octet leaves, and nothing is sent when it throws", async () => {
    const journal: string[] = [];
    const { session, peer } = await bound({
      beforeWrite: (tokens) => {
        if (tokens.includes("bad")) throw new Error("disk full");
        const written = peer.received.filter(({ command }) => command === "submit_sm").length;
        journal.push(...tokens.map((token) => `${token} after ${written}`));
      },
    });
    const first = submit(session, "one");
    const second = submit(session, "two");
    await peer.got("submit_sm", 2);
    expect(journal).to.deep.equal(["one after 0", "two after 0"]);
    const failed = await submit(session, "bad");
    expect(failed).to.deep.include({ kind: "not_sent", reason: "journal_failed" });
    const third = submit(session, "three");
    await peer.got("submit_sm", 3);
    expect(journal.at(-1)).to.equal("three after 2");
    session.close();
    for (const outcome of [first, second, third]) expect((await outcome).kind).to.equal("unknown");
  });

  it("a request ends as unknown at its deadline, and its late answer is reported", async () => {
    const late: string[] = [];
    const { session, peer } = await bound({
      responseTimeoutMs: 60,
      onLateAnswer: (token, response) => {
        late.push(
          `${token} ${response.command === "submit_sm_resp" ? response.body.messageId : ""}`,
        );
      },
    });
    const outcome = submit(session, "one");
    const { sequence } = await peer.got("submit_sm");
    expect(await outcome).to.deep.equal({ kind: "unknown", reason: "timeout" });
    peer.send({ command: "submit_sm_resp", sequence, body: { messageId: "m1" } });
    await eventually(() => late.length > 0);
    expect(late).to.deep.equal(["one m1"]);
  });

  it("a session ignores answers without a request and answers of another command", async () => {
    const { session, peer } = await bound();
    const outcome = submit(session);
    const { sequence } = await peer.got("submit_sm");
    peer.send(
      { command: "submit_sm_resp", sequence: sequence + 1000 },
      { command: "deliver_sm_resp", sequence },
      { command: "submit_sm_resp", sequence, body: { messageId: "m1" } },
    );
    expect(await outcome).to.have.nested.property("response.body.messageId", "m1");
    expect(session.counts.unmatchedAnswers).to.equal(2);
  });

  it("generic_nack ends its request as answered", async () => {
    const { session, peer } = await bound();
    const outcome = submit(session);
    const { sequence } = await peer.got("submit_sm");
    peer.send({ command: "generic_nack", sequence, status: 3 });
    expect(await outcome).to.have.nested.property("response.status", 3);
  });

  it("a request that cannot be encoded ends as not sent and blocks no other", async () => {
    const { session, peer } = await bound();
    const bad = session.request("submit_sm", { destinationAddr: "x".repeat(30) });
    const good = submit(session);
    expect(await bad).to.deep.include({ kind: "not_sent", reason: "unencodable" });
    const { sequence } = await peer.got("submit_sm");
    peer.send({ command: "submit_sm_resp", sequence });
    expect((await good).kind).to.equal("answered");
    expect(session.window.inFlight).to.equal(0);
  });

  it("an unreadable body and an unknown command get generic_nack, and the session continues", async () => {
    const { peer, closed } = await bound();
    const bad = Buffer.from("00000013000000050000000000000007616263", "hex");
    const unknown = Buffer.from("00000010000009990000000000000008", "hex");
    peer.socket.write(Buffer.concat([bad, unknown]));
    expect(await peer.got("generic_nack", 1)).to.deep.include({ sequence: 7, status: 2 });
    expect(await peer.got("generic_nack", 2)).to.deep.include({ sequence: 8, status: 3 });
    peer.send({ command: "enquire_link", sequence: 9 });
    await peer.got("enquire_link_resp");
    expect(closed).to.deep.equal([]);
  });

  it("an unreadable refusal is a refusal, and an unreadable acceptance is unknown", async () => {
    const { session, peer } = await bound();
    const outcomes = [submit(session), submit(session)];
    const first = await peer.got("submit_sm", 1);
    const second = await peer.got("submit_sm", 2);
    for (const [id, sequence, status] of [
      // Of a vendor's command, and of another one: they only have the number of a submit.
      [0x80000112, first.sequence, 0x58],
      [0x80000103, second.sequence, 0],
      [0x80000004, first.sequence, 0x58],
      [0x80000004, second.sequence, 0],
    ] as const) {
      const octets = Buffer.from("000000138000000400000000000000006d6964", "hex");
      octets.writeUInt32BE(id, 4);
      octets.writeUInt32BE(status, 8);
      octets.writeUInt32BE(sequence, 12);
      peer.socket.write(octets);
    }
    expect(await outcomes[0]).to.have.nested.property("response.status", 0x58);
    expect(await outcomes[1]).to.deep.equal({ kind: "unknown", reason: "bad_answer" });
    expect(session.counts).to.include({ badPdus: 4 });
  });

  const LENGTHS: [string, number][] = [
    ["zero", 0],
    ["less than a header", 15],
    ["16 MiB", 16 * 1024 * 1024],
  ];
  for (const [name, length] of LENGTHS) {
    it(`closes the socket at a command_length of ${name}`, async () => {
      const { session, peer, closed } = await bound();
      const outcome = submit(session);
      await peer.got("submit_sm");
      const head = Buffer.alloc(16);
      head.writeUInt32BE(length, 0);
      peer.socket.write(head);
      await eventually(() => peer.isEnded);
      expect(closed).to.deep.equal(["framing"]);
      expect(await outcome).to.deep.equal({ kind: "unknown", reason: "closed" });
    });
  }

  it("a frame that stays incomplete closes the session after frameTimeoutMs", async () => {
    const { peer, closed } = await bound({ frameTimeoutMs: 80 });
    peer.socket.write(Buffer.from("000000", "hex"));
    await eventually(() => closed.length > 0);
    expect(closed).to.deep.equal(["frame_timeout"]);
  });

  it("a session sends enquire_link to a silent peer and closes without an answer", async () => {
    const { peer, closed } = await bound({ enquireLinkIntervalMs: 30, enquireLinkTimeoutMs: 1000 });
    const { sequence } = await peer.got("enquire_link", 1);
    peer.send({ command: "enquire_link_resp", sequence });
    await peer.got("enquire_link", 2);
    expect(closed).to.deep.equal([]);
    await eventually(() => closed.length > 0);
    expect(closed).to.deep.equal(["enquire_link_timeout"]);
  });

  it("a link with other traffic stays open when the answer to enquire_link is missing or unreadable", async () => {
    const { session, peer, closed } = await bound({
      enquireLinkIntervalMs: 30,
      enquireLinkTimeoutMs: 1000,
    });
    await peer.got("enquire_link", 1);
    const taken = submit(session);
    const { sequence } = await peer.got("submit_sm");
    peer.send({ command: "submit_sm_resp", sequence, body: { messageId: "m1" } });
    expect((await taken).kind).to.equal("answered");
    const second = await peer.got("enquire_link", 2);
    const unreadable = Buffer.from("0000001480000015000000000000000001020304", "hex");
    unreadable.writeUInt32BE(second.sequence, 12);
    peer.socket.write(unreadable);
    await peer.got("enquire_link", 3);
    expect(closed).to.deep.equal([]);
  });

  it("unbind is sent, and the session closes after its answer", async () => {
    const { session, peer, closed } = await bound({ unbindTimeoutMs: 5000 });
    const ending = session.unbind();
    const { sequence } = await peer.got("unbind");
    expect(await submit(session)).to.deep.include({ kind: "not_sent" });
    peer.send({ command: "unbind_resp", sequence });
    await ending;
    await eventually(() => peer.isEnded);
    expect(closed).to.deep.equal(["unbound"]);
  });

  it("unbind ends the session when the peer does not answer", async () => {
    const { session, peer, closed } = await bound({ unbindTimeoutMs: 50 });
    await session.unbind();
    await eventually(() => peer.isEnded);
    expect(closed).to.deep.equal(["unbound"]);
  });

  it("after the peer's unbind the session still reads answers and lets the peer close first", async () => {
    const { session, peer, closed } = await bound({ windowMax: 1, unbindTimeoutMs: 40 });
    const flying = submit(session);
    const queued = submit(session);
    const { sequence } = await peer.got("submit_sm");
    peer.send({ command: "unbind", sequence: 77 });
    await peer.got("unbind_resp");
    expect(await queued).to.deep.equal({ kind: "not_sent", reason: "closed" });
    await new Promise((resolve) => setTimeout(resolve, 200));
    peer.send({ command: "submit_sm_resp", sequence, body: { messageId: "m1" } });
    expect((await flying).kind).to.equal("answered");
    expect(closed).to.deep.equal([]);
    peer.socket.end();
    await eventually(() => closed.length > 0);
    expect(closed).to.deep.equal(["peer_unbound"]);
  });

  it("a delivery during unbind gets a temporary error, so that the peer repeats it", async () => {
    const { session, peer } = await bound({ unbindTimeoutMs: 5000 });
    const ending = session.unbind();
    const { sequence } = await peer.got("unbind");
    peer.send({ command: "deliver_sm", sequence: 5, body });
    expect(await peer.got("deliver_sm_resp")).to.deep.include({ sequence: 5, status: 0x64 });
    peer.send({ command: "unbind_resp", sequence });
    await ending;
  });

  it("the session closes by itself when the peer does not close after its unbind", async () => {
    const { peer, closed } = await bound({ unbindTimeoutMs: 40 });
    peer.send({ command: "unbind", sequence: 77 });
    await eventually(() => peer.isEnded);
    expect(closed).to.deep.equal(["peer_unbound"]);
  });

  it("outbind, commands of the other side and deliveries before the bind are refused", async () => {
    const { session, peer } = await pair({});
    peer.send(
      { command: "outbind", sequence: 1, body: { systemId: "s" } },
      { command: "submit_sm", sequence: 2, body },
      { command: "deliver_sm", sequence: 3, body },
    );
    expect(await peer.got("generic_nack", 1)).to.deep.include({ sequence: 1, status: 4 });
    expect(await peer.got("generic_nack", 2)).to.deep.include({ sequence: 2, status: 3 });
    expect(await peer.got("deliver_sm_resp")).to.deep.include({ sequence: 3, status: 4 });
    expect(session.state).to.equal("open");
  });

  it("a delivery in the same packet as the bind answer is handled", async () => {
    const taken: string[] = [];
    const { session, peer } = await pair({
      onRequest: (pdu, from) => {
        taken.push(pdu.command);
        from.respond(pdu);
      },
    });
    void session.bind("receiver", { systemId: "me" });
    const { sequence } = await peer.got("bind_receiver");
    peer.send(
      { command: "bind_receiver_resp", sequence },
      { command: "deliver_sm", sequence: 5, body },
    );
    await peer.got("deliver_sm_resp");
    expect(taken).to.deep.equal(["deliver_sm"]);
  });

  it("requests beyond incomingMax get a temporary error", async () => {
    const { peer } = await bound({ incomingMax: 2, onRequest: () => {} });
    const deliver = (sequence: number): OutgoingPdu => ({ command: "deliver_sm", sequence, body });
    peer.send(deliver(1), deliver(2), deliver(3));
    expect(await peer.got("deliver_sm_resp")).to.deep.include({ sequence: 3, status: 0x64 });
  });

  it("a session that is not bound in time closes", async () => {
    const { peer, closed } = await pair({ bindTimeoutMs: 50, responseTimeoutMs: 100 });
    await eventually(() => peer.isEnded);
    expect(closed).to.deep.equal(["bind_timeout"]);
  });

  it("a peer that sends requests and reads no answer loses its link", async () => {
    const { peer, closed } = await bound({ outputBytesMax: 200_000 });
    peer.socket.pause();
    const burst = Buffer.concat(
      Array.from({ length: 5000 }, (_, i) =>
        encodePdu({ command: "enquire_link", sequence: i + 1 }),
      ),
    );
    await eventually(
      () => {
        peer.socket.write(burst);
        return closed.length > 0;
      },
      { everyMs: 1, timeoutMs: 20_000 },
    );
    expect(closed).to.deep.equal(["peer_not_reading"]);
  });

  it("queued requests end when the peer sends but does not read", async () => {
    const options = { windowMax: 50_000, queueMax: 50_000, responseTimeoutMs: 300 };
    const { session, peer, closed } = await bound({ ...options, outputBytesMax: 1e9 });
    peer.socket.pause();
    // More than the sockets of both sides hold.
    const long = { ...body, shortMessage: Buffer.alloc(250, "x") };
    for (let i = 0; i < 50_000; i++) void session.request("submit_sm", long);
    const talking = setInterval(() => {
      peer.send({ command: "enquire_link", sequence: 1 });
    }, 50);
    await eventually(() => closed.length > 0, { timeoutMs: 10_000 });
    clearInterval(talking);
    expect(closed).to.deep.equal(["peer_not_reading"]);
  });

  it("requests of one event-loop iteration leave in order and in few writes", async () => {
    const { session, peer } = await bound({ windowMax: 500 });
    let chunks = 0;
    peer.socket.on("data", () => chunks++);
    for (let i = 0; i < 500; i++) void submit(session);
    const last = await peer.got("submit_sm", 500);
    const sequences = peer.received
      .filter(({ command }) => command === "submit_sm")
      .map((pdu) => pdu.sequence);
    expect(sequences).to.deep.equal([...sequences].sort((a, b) => a - b));
    expect(last.sequence - (sequences[0] as number)).to.equal(499);
    expect(chunks).to.be.below(20);
  });
});
