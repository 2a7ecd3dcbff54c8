import { create } from "@bufbuild/protobuf";
import { expect } from "chai";
import { type Charge, ChargeSchema, MessageStatus } from "../../proto/gen/sms/v1/messaging_pb.js";
import { checkCharges } from "../../services/smsctl/check/charges.ts";
import { BREACHES_MAX } from "../../services/smsctl/check/report.ts";
import { CHECK_COMMAND } from "../../services/smsctl/commands/check.ts";
import { clientsOf, type Fakes, run } from "../support/smsctl-fakes.ts";

describe("smsctl check", () => {
  /** Messages that look late at first and good when looked at again; more than are compared. */
  const late = (at: number): Charge =>
    create(ChargeSchema, {
      tenantId: "ten_1",
      messageId: `msg_${String(at).padStart(6, "0")}`,
      reservationId: `rsv_${at}`,
      status: MessageStatus.SENT,
      heldAmount: 1n,
    });
  const COUNT = BREACHES_MAX + 50;
  const fakes = (count: number): Fakes => ({
    messaging: {
      async *checkMessages() {},
      async *streamCharges() {
        yield { charges: Array.from({ length: count }, (_, at) => late(at)) };
      },
      getMessage: () => ({ message: { status: MessageStatus.QUEUED } }),
    },
    wallets: {
      async *checkWallets() {},
      async *streamSettlements() {},
      async *streamReservations() {
        yield {
          reservations: Array.from({ length: COUNT }, (_, at) => ({
            id: `rsv_${at}`,
            openAmount: 1n,
          })),
        };
      },
    },
  });

  it("names no hold as unexplained when it did not reach all messages", async () => {
    const report = await checkCharges(clientsOf(fakes(COUNT)), "", () => undefined);
    expect(report.breaches).to.deep.equal([]);
    expect(report.unfinished).to.include(`after ${BREACHES_MAX + 1} messages`);
  });

  it("is not ok when not everything was compared", async () => {
    const { code, result, notes } = await run(CHECK_COMMAND, ["check"], fakes(COUNT));
    expect(code).to.equal(1);
    expect(result).to.include({ ok: false });
    expect(result.unfinished).to.have.length(1);
    expect(notes.at(-1)).to.include("NOT EVERYTHING WAS COMPARED");
  });

  it("compares open holds when it did reach all messages", async () => {
    const report = await checkCharges(clientsOf(fakes(COUNT - 60)), "", () => undefined);
    expect(report.unfinished).to.equal(undefined);
    expect(report.breaches.map(({ invariant, ids }) => [invariant, ids[0]])).to.deep.equal(
      Array.from({ length: 60 }, (_, at) => [3, `rsv_${COUNT - 60 + at}`]),
    );
  });

  it("tells of a hold that is larger than its open messages, and of no other tenant's when one is named", async () => {
    const open = (id: string, tenantId: string, openAmount: bigint) => ({
      id,
      tenantId,
      openAmount,
    });
    const { messaging = {}, wallets } = fakes(1);
    const asked: string[] = [];
    const services: Fakes = {
      messaging: {
        ...messaging,
        async *streamCharges({ tenantId }) {
          asked.push(tenantId);
          yield { charges: [late(0)] };
        },
      },
      wallets: {
        ...wallets,
        async *streamReservations() {
          yield { reservations: [open("rsv_0", "ten_1", 3n), open("rsv_9", "ten_2", 1n)] };
        },
      },
    };
    const { code, result } = await run(CHECK_COMMAND, ["check", "--tenant", "Ada"], services);
    expect(code).to.equal(1);
    expect(result.breaches).to.deep.equal([
      { invariant: 3, what: "a hold of 3 where open messages explain 1", ids: ["rsv_0"] },
    ]);
    expect(asked).to.deep.equal(["ten_1"]);
  });
});
