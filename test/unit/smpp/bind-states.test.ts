import { expect } from "chai";
import { wrongStateStatus } from "../../../services/shared/smpp/bind-states.ts";
import { STATUS } from "../../../services/shared/smpp/statuses.ts";

describe("the status for a request in the wrong state", () => {
  for (const [state, command, status] of [
    ["open", "submit_sm", STATUS.ESME_RINVBNDSTS],
    ["bound_rx", "submit_sm", STATUS.ESME_RINVBNDSTS],
    ["bound_trx", "bind_transceiver", STATUS.ESME_RALYBND],
    ["bound_tx", "bind_receiver", STATUS.ESME_RALYBND],
    ["unbinding", "bind_transmitter", STATUS.ESME_RINVBNDSTS],
    ["unbinding", "deliver_sm", STATUS.ESME_RX_T_APPN],
    ["open", "deliver_sm", STATUS.ESME_RINVBNDSTS],
  ] as const) {
    it(`${command} while ${state}: 0x${status.toString(16)}`, () => {
      expect(wrongStateStatus(state, command)).to.equal(status);
    });
  }
});
