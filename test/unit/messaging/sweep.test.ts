import { expect } from "chai";
import type {
  DueMessage,
  MessageStore,
  SendStore,
  ServiceClients,
} from "../../../services/messaging/app/ports.ts";
import { createSweeps } from "../../../services/messaging/app/sweep.ts";
import type { Changes } from "../../../services/messaging/app/update-messages.ts";
import { createManualClock } from "../../../services/shared/core/clock.ts";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import { ALL_AVAILABLE, TIMEOUTS } from "../../support/messages.ts";

describe("the sweep of due messages", () => {
  for (const code of ["service_unavailable", "internal_error"] as const) {
    it(`gets past a page of scheduled messages whose tenants cannot be asked: ${code}`, () =>
      past(code));
  }

  async function past(code: "service_unavailable" | "internal_error") {
    const due: DueMessage[] = [
      ...Array.from({ length: 6000 }, (_, at) => message(`scheduled-${at}`, "scheduled")),
      message("expires", "sent"),
    ];
    const ended: string[] = [];
    const sweeps = sweepsWith({
      store: {
        findDue: async (_nowMs: number, limit: number, statuses?: readonly string[]) =>
          due
            .filter(({ status }) => statuses === undefined || statuses.includes(status))
            .slice(0, limit),
      } as unknown as MessageStore,
      changes: {
        change: async (id: string) => {
          ended.push(id);
          return { message: {}, events: [{}] };
        },
      } as unknown as Changes,
      services: {
        tenant: async () => {
          throw new AppError(code, "away");
        },
      } as unknown as ServiceClients,
    });
    expect(await sweeps.due(), "nothing more can be done at once").to.equal(false);
    expect(ended).to.deep.equal(["expires"]);
  }
});

describe("the sweep of due messages, when one cannot be changed", () => {
  const sweepWith = (fault: Error) => {
    const ended: string[] = [];
    const sweeps = sweepsWith({
      store: {
        findDue: async () => ["one", "bad", "other"].map((id) => message(id, "sent")),
      } as unknown as MessageStore,
      changes: {
        change: async (id: string) => {
          if (id === "bad") throw fault;
          ended.push(id);
          return { message: {}, events: [{}] };
        },
      } as unknown as Changes,
      services: {} as ServiceClients,
    });
    return { sweeps, ended };
  };

  it("ends the others", async () => {
    const { sweeps, ended } = sweepWith(new Error("a fault"));
    expect(await sweeps.due()).to.equal(false);
    expect(ended).to.deep.equal(["one", "other"]);
  });

  it("waits as a whole in an outage", async () => {
    const { sweeps } = sweepWith(new AppError("service_unavailable", "away"));
    expect(await sweeps.due().catch(({ code }) => code)).to.equal("service_unavailable");
  });
});

function sweepsWith(
  parts: Pick<Parameters<typeof createSweeps>[0], "store" | "changes" | "services">,
) {
  return createSweeps({
    ...parts,
    sends: {} as SendStore,
    clock: createManualClock(1_000_000),
    log: createLogger("test", "silent"),
    timeouts: TIMEOUTS,
    availabilityOf: ALL_AVAILABLE,
    keepMs: 1,
    testKeepMs: 1000,
    idempotencyMs: 1,
  });
}

function message(id: string, status: DueMessage["status"]): DueMessage {
  return {
    ...{ id, tenantId: "ten_a", from: "SENDER", to: "+2348030000000", status },
    trafficClass: "otp",
  };
}
