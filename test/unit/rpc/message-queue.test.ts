import { expect } from "chai";
import { createInbox } from "../../../services/shared/rpc/message-queue.ts";

describe("an RPC message queue", () => {
  function open() {
    let requested = 0;
    const inbox = createInbox<number>(() => {
      requested += 1;
    });
    const reader = inbox.messages[Symbol.asyncIterator]();
    return { inbox, reader, requested: () => requested };
  }

  it("requests a message only when the one before was read", async () => {
    const { inbox, reader, requested } = open();
    inbox.open();
    inbox.push(1);
    expect(requested()).to.equal(1);
    expect(await reader.next()).to.deep.equal({ done: false, value: 1 });
    expect(requested()).to.equal(2);
    const waiting = reader.next();
    expect(requested(), "waiting asks no more").to.equal(2);
    inbox.push(2);
    expect(await waiting).to.deep.equal({ done: false, value: 2 });
    expect(requested()).to.equal(3);
  });

  it("delivers the messages before the end, then stays ended", async () => {
    const { inbox, reader } = open();
    inbox.push(1);
    inbox.end();
    inbox.push(2);
    expect(await reader.next()).to.deep.equal({ done: false, value: 1 });
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await reader.next()).to.deep.equal({ done: true, value: undefined });
    }
  });

  it("wakes a waiting reader with the end or the error", async () => {
    const first = open();
    const ended = first.reader.next();
    first.inbox.end();
    expect((await ended).done).to.equal(true);

    const second = open();
    const failed = second.reader.next();
    const error = new Error("cut");
    second.inbox.fail(error);
    expect(await failed.catch((thrown: unknown) => thrown)).to.equal(error);
    expect(await second.reader.next().catch((thrown: unknown) => thrown)).to.equal(error);
  });

  it("drops unread messages on an error, and ignores a second end", async () => {
    const { inbox, reader } = open();
    const error = new Error("cut");
    inbox.push(1);
    inbox.fail(error);
    inbox.end();
    expect(await reader.next().catch((thrown: unknown) => thrown)).to.equal(error);
  });
});
