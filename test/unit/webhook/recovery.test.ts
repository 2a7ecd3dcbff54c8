import { expect } from "chai";
import { recoverDeliveries } from "../../../services/webhook/app/delivery-management.ts";
import { sampleEndpoint } from "../../support/webhook-endpoint.ts";

const nothing = {} as never;
const BEGUN_MS = 1_800_000_000_000;

describe("recovering failed webhook deliveries", () => {
  const endpoint = sampleEndpoint(BEGUN_MS - 1);
  const { id: endpointId, tenantId, mode } = endpoint;
  const wanted = { tenantId, mode, endpointId, sinceMs: 0 };

  it("counts the deliveries of a repeated transaction too", async () => {
    const dueAt: number[] = [];
    const answers = [3, 1];
    let nowMs = BEGUN_MS;
    const parts = {
      clock: { now: () => nowMs++ },
      endpoints: { get: async () => endpoint },
      deliveries: {
        ...{ list: nothing, get: nothing, ofMessage: nothing, insertDue: nothing, resend: nothing },
        async recover(_endpointId: string, _sinceMs: number, _attempts: number, atMs: number) {
          dueAt.push(atMs);
          return answers.shift() ?? 0;
        },
      },
      nudge: () => undefined,
      attemptsMax: 5,
    };
    const repeated = async (effect: (session: undefined) => Promise<number>) => {
      await effect(undefined);
      return effect(undefined);
    };
    expect(await recoverDeliveries(parts, wanted, repeated)).to.equal(4);
    // One instant: deliveries that failed between the calls are not recovered again.
    expect(dueAt).to.deep.equal([BEGUN_MS, BEGUN_MS]);
  });
});
