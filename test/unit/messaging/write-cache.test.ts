import { expect } from "chai";
import { toDocument } from "../../../services/messaging/store/documents.ts";
import { createRemembered } from "../../../services/messaging/store/write-cache.ts";
import { messageIn } from "../../support/messages.ts";

const document = (id: string, revision = 0) => toDocument(messageIn("waiting", { id, revision }));

describe("what messaging remembers of messages", () => {
  let nowMs = 0;
  const open = () => createRemembered(() => nowMs);

  it("keeps what is looked at, and gives away what is taken", () => {
    const remembered = open();
    remembered.note([document("a"), document("b")]);
    expect([...remembered.look(["a", "c"]).keys()]).to.deep.equal(["a"]);
    expect([...remembered.take(["a", "c"]).keys()]).to.deep.equal(["a"]);
    expect([...remembered.look(["a", "b"]).keys()]).to.deep.equal(["b"]);
  });

  it("keeps the latest revision, whichever is heard of first", () => {
    const remembered = open();
    remembered.note([document("a", 2)]);
    remembered.note([document("a", 1)]);
    expect(remembered.look(["a"]).get("a")?.revision).to.equal(2);
    remembered.note([document("a", 3)]);
    expect(remembered.look(["a"]).get("a")?.revision).to.equal(3);
  });

  it("forgets the least recent of too many", () => {
    const remembered = open();
    const ids = Array.from({ length: 10_000 }, (_, at) => `m${at}`);
    for (const id of ids) remembered.note([document(id)]);
    const kept = [...remembered.look(ids).keys()];
    expect(kept.length).to.be.within(6000, 8192);
    expect(kept.at(-1)).to.equal("m9999");
  });

  it("knows nothing for a while after it was wrong", () => {
    const remembered = open();
    remembered.note([document("a")]);
    remembered.distrust();
    remembered.note([document("b")]);
    expect(remembered.look(["a", "b"]).size).to.equal(0);
    nowMs += 2000;
    remembered.note([document("b")]);
    expect(remembered.look(["b"]).size).to.equal(1);
  });
});
