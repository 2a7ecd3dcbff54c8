import { expect } from "chai";
import type { MessageStore, SendStore } from "../../../services/messaging/app/ports.ts";
import { createReservationResolver } from "../../../services/messaging/app/resolve-reservations.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { messageIn } from "../../support/messages.ts";

const questionOf = (reservationId: string) => ({
  tenantId: "ten_a",
  reservationId,
  firstMessageId: `first of ${reservationId}`,
  lastMessageId: "",
});

/** A store of sends without records, where those named commit while the tombstone is written. */
function storesOf(late: ReadonlySet<string>) {
  const committed = new Set<string>();
  let running = 0;
  let atOnceMax = 0;
  const sends = {
    findByIds: async () => new Map(),
    async putTombstone(id: string) {
      running += 1;
      atOnceMax = Math.max(atOnceMax, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (!late.has(id)) return "tombstone";
      committed.add(id);
      return "sent";
    },
  } as unknown as SendStore;
  const store = {
    findReserved: async (_: string, reservationId: string, { firstId }: { firstId: string }) =>
      [...committed]
        .filter((id) => id === reservationId && firstId === `first of ${id}`)
        .map((id) => messageIn("waiting", { reservationId: id })),
    findCharges: async () => [],
  } as unknown as MessageStore;
  return { sends, store, atOnceMax: () => atOnceMax };
}

describe("resolving reservations", () => {
  it("runs concurrently up to a limit, and answers in order", async () => {
    const ids = Array.from({ length: 100 }, (_, at) => `rsv_${at}`);
    const late = new Set(ids.filter((_, at) => at % 7 === 0));
    const { sends, store, atOnceMax } = storesOf(late);
    const resolve = createReservationResolver({ sends, store, clock: createManualClock(0) });
    const answers = await resolve(ids.map(questionOf));
    expect(answers.map(({ reservationId }) => reservationId)).to.deep.equal(ids);
    for (const { reservationId, hasTombstone, charges } of answers) {
      expect(hasTombstone, reservationId).to.equal(!late.has(reservationId));
      expect(charges.map((one) => one.reservationId)).to.deep.equal(
        hasTombstone ? [] : [reservationId],
      );
    }
    expect(atOnceMax()).to.equal(16);
  });
});
