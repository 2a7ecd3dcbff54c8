/** The queries of a settled list. */
import { expect } from "chai";
import { createQueries } from "../../../services/messaging/app/queries.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { idTimeMs, newId } from "../../../services/shared/core/ids.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = Date.now();

describe("a page that is to have no gaps", () => {
  const clock = createManualClock(NOW_MS);

  /** Lists up to an instant; answers what was waited for, what the store was asked, and a later id. */
  async function list(createdBeforeMs: number, isSettled: boolean, beforeId?: string) {
    const waited: number[] = [];
    const asked: { beforeId?: string | undefined }[] = [];
    let laterId = "";
    const parts = {
      lists: {
        async page(filter: { beforeId?: string | undefined }) {
          asked.push(filter);
          return { messages: [], hasMore: false };
        },
      },
      inflight: {
        async waitFor(_tenantId: string, beforeMs: number) {
          waited.push(beforeMs);
          laterId = newId("message", clock.now());
        },
      },
      clock,
    };
    const filter = { tenantId: "ten_a", statuses: [], sources: [], createdBeforeMs, beforeId };
    const options = { limit: 50, isSettled, allowsShort: false };
    await createQueries(parts as never).list(filter as never, options);
    return { waited, beforeId: asked[0]?.beforeId ?? "", laterId };
  }

  it("has none of the sends that begin while it waits, however far its bound lies ahead", async () => {
    const earlierId = newId("message", clock.now());
    const { waited, beforeId, laterId } = await list(NOW_MS + HOUR_MS, true);
    expect(beforeId > earlierId).to.equal(true);
    expect(beforeId < laterId).to.equal(true);
    expect(waited).to.deep.equal([idTimeMs(beforeId) + 1]);
  });

  it("keeps to ids where the clock has been set back", async () => {
    clock.advance(-HOUR_MS / 2);
    const earlierId = newId("message", clock.now());
    const { beforeId, laterId } = await list(NOW_MS + HOUR_MS, true);
    expect(beforeId > earlierId).to.equal(true);
    expect(beforeId < laterId).to.equal(true);
  });

  it("waits for no more than its window, and neither a further page nor another list waits", async () => {
    expect((await list(NOW_MS - 7, true)).waited).to.deep.equal([NOW_MS - 7]);
    const id = newId("message", clock.now());
    expect(await list(NOW_MS, true, id)).to.deep.include({ waited: [], beforeId: id });
    expect(await list(NOW_MS, false)).to.deep.include({ waited: [], beforeId: "" });
  });
});
