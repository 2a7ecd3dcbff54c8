/** The sends for which a list without gaps waits. */
import { expect } from "chai";
import { readQuery } from "../../../services/messaging/adapters/inflight-sends-nats.ts";
import {
  createInflightSends,
  type InflightQuery,
} from "../../../services/messaging/app/inflight-sends.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { asAppError } from "../../../services/shared/core/errors.ts";
import { answerWithin } from "../../../services/shared/flow/backoff.ts";

const NOW_MS = 1_000_000;
const LIMIT_MS = 5000;

function open(haveTheirsEnded = true) {
  const asked: [string, number][] = [];
  let answer: InflightQuery | undefined;
  const sends = createInflightSends(
    {
      async ended(tenantId, beforeMs) {
        asked.push([tenantId, beforeMs]);
        return haveTheirsEnded;
      },
      onQuery: (ended) => {
        answer = ended;
      },
    },
    createManualClock(NOW_MS),
  );
  return { sends, asked, answer: (before: number) => answer?.("ten_a", before, LIMIT_MS) };
}

/** Whether a promise is settled after all that is due at once has run. */
async function isPending(work: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setImmediate(() => resolve("later")));
  return (await Promise.race([work, later])) === "later";
}

describe("in-flight sends", () => {
  it("a list waits for those of its tenant that began before its end, and for no others", async () => {
    const { sends, asked } = open();
    const ends = [
      sends.begin("ten_a", NOW_MS - 5),
      sends.begin("ten_a", NOW_MS),
      sends.begin("ten_b", NOW_MS - 5),
    ];
    const listed = sends.waitFor("ten_a", NOW_MS);
    expect(await isPending(listed)).to.equal(true);
    ends[0]?.();
    await listed;
    await sends.waitFor("ten_a", NOW_MS);
    expect(asked).to.deep.equal([
      ["ten_a", NOW_MS],
      ["ten_a", NOW_MS],
    ]);
  });

  it("does not wait for sends that begin during the wait", async () => {
    const { sends } = open();
    const end = sends.begin("ten_a", NOW_MS - 5);
    const listed = sends.waitFor("ten_a", NOW_MS + 1000);
    sends.begin("ten_a", NOW_MS);
    end();
    await listed;
  });

  it("throws service_unavailable when a send of another replica takes too long", async () => {
    const { sends } = open(false);
    const error = await sends.waitFor("ten_a", NOW_MS).catch(asAppError);
    expect(error).to.include({ code: "service_unavailable", retryAfterMs: 1000 });
  });

  it("a window that ended long ago waits for no send and queries no replica", async () => {
    const { sends, asked } = open(false);
    await sends.waitFor("ten_a", NOW_MS - 120_001);
    expect(asked).to.deep.equal([]);
    // Its own notes cost nothing to look at.
    const end = sends.begin("ten_a", NOW_MS - 130_000);
    const listed = sends.waitFor("ten_a", NOW_MS - 120_001);
    expect(await isPending(listed)).to.equal(true);
    end();
    await listed;
    expect(asked).to.deep.equal([]);
  });

  it("an older waiter is not delayed by a later send", async () => {
    const { sends } = open();
    const ends = [sends.begin("ten_a", NOW_MS - 9), sends.begin("ten_a", NOW_MS - 5)];
    const [older, younger] = [sends.waitFor("ten_a", NOW_MS - 7), sends.waitFor("ten_a", NOW_MS)];
    ends[0]?.();
    await older;
    expect(await isPending(younger)).to.equal(true);
    ends[1]?.();
    await younger;
  });

  it("a replica whose clock is behind waits until it has passed the bound", async () => {
    const { sends, answer } = open();
    const left = answer(NOW_MS + 20) ?? Promise.resolve(false);
    const end = sends.begin("ten_a", NOW_MS + 10);
    expect(await answerWithin(left, 100)).to.equal(undefined);
    end();
    expect(await left).to.equal(true);
  });

  it("another replica learns of in-flight sends, and gets no answer when there are none", async () => {
    const { sends, answer } = open();
    expect(answer(NOW_MS)).to.equal(undefined);
    const end = sends.begin("ten_a", NOW_MS - 1);
    const left = answer(NOW_MS);
    end();
    expect(await left).to.equal(true);
    expect(answer(NOW_MS)).to.equal(undefined);
  });

  for (const text of [
    "",
    "{",
    "{}",
    "[]",
    '["a b",1,"ten_a",5]',
    '["a",1,"ten_a",null]',
    '["a",1]',
  ]) {
    it(`${JSON.stringify(text)} is no query`, () => {
      expect(readQuery(text)).to.equal(undefined);
    });
  }
});
