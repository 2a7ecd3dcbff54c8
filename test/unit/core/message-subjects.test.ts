import { expect } from "chai";
import { MESSAGES_SUBJECTS } from "../../../services/campaign/adapters/events.ts";
import { MESSAGE_STATUSES } from "../../../services/shared/core/message-status.ts";
import { messageSubject } from "../../../services/shared/core/message-subjects.ts";
import { SETTLE_SUBJECTS } from "../../../services/wallet/adapters/events.ts";

/** n-1: remove in 0.4.0. What the wallet of 0.2.0 selects. */
const SETTLE_SUBJECTS_0_2 = [
  "events.message.*.sent",
  "events.message.*.failed",
  "events.message.*.cancelled",
];
const SETTLED = ["sent", "failed", "cancelled"];
const FOLLOWED = [...SETTLED, "delivered", "undelivered", "expired"];

/** How many of these filters, without `>`, select the subject. JetStream refuses filters that overlap. */
function selecting(filters: readonly string[], subject: string): number {
  const tokens = subject.split(".");
  return filters.filter((filter) => {
    const wanted = filter.split(".");
    const fits = wanted.every((token, at) => token === "*" || token === tokens[at]);
    return fits && wanted.length === tokens.length;
  }).length;
}

describe("the subject of a message's event", () => {
  for (const status of MESSAGE_STATUSES) {
    for (const isOfCampaign of [true, false]) {
      const subject = messageSubject("ten_1", status, isOfCampaign);
      const settles = SETTLED.includes(status) ? 1 : 0;

      it(`${subject} is selected once by the wallets of this release and of 0.2.0, if it settles`, () => {
        expect(selecting(SETTLE_SUBJECTS, subject)).to.equal(settles);
        expect(selecting(SETTLE_SUBJECTS_0_2, subject)).to.equal(settles);
      });

      it(`${subject} is found by the tenant of the list of events`, () =>
        expect(subject).to.match(/^events\.\w+\.ten_1\../));
    }

    const followed = FOLLOWED.includes(status) ? 1 : 0;
    const settles = SETTLED.includes(status) ? 1 : 0;

    it(`${status}: the campaign service gets its messages', and of others only what settles`, () => {
      const ofCampaign = messageSubject("ten_1", status, true);
      expect(selecting(MESSAGES_SUBJECTS, ofCampaign)).to.equal(followed);
      const direct = messageSubject("ten_1", status, false);
      expect(selecting(MESSAGES_SUBJECTS, direct)).to.equal(settles);
    });

    it(`${status}: the campaign service gets every event of messaging of 0.2.0 that it follows`, () =>
      expect(selecting(MESSAGES_SUBJECTS, `events.message.ten_1.${status}`)).to.equal(followed));

    it(`${status}: the wallet also settles what release 0.4.0 will publish`, () =>
      expect(selecting(SETTLE_SUBJECTS, `events.message.ten_1.${status}.direct`)).to.equal(
        settles,
      ));
  }
});
