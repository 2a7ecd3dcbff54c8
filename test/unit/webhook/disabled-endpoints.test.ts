/** Limits on waiting, with a fake clock. */
import { mock } from "node:test";
import { expect } from "chai";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import {
  deleteEndpoint,
  type EndpointParts,
} from "../../../services/webhook/app/endpoint-management.ts";
import { checkUrl } from "../../../services/webhook/app/url-check.ts";

const never = <T>() => new Promise<T>(() => undefined);

/** Starts work, lets its timers expire, and returns its result. */
async function afterTimers<T>(work: Promise<T>): Promise<T> {
  await new Promise((resolve) => setImmediate(resolve));
  mock.timers.tick(5000);
  return work;
}

describe("deleting a webhook endpoint", () => {
  before(() => mock.timers.enable({ apis: ["setTimeout"] }));
  after(() => mock.timers.reset());

  const remove = (dropWaiting: () => Promise<number>) => {
    const stopped: string[] = [];
    const parts = {
      clock: { now: () => 0 },
      log: createLogger("test", "silent"),
      store: { delete: async () => true },
      queue: { dropWaiting },
      stopper: { stop: (endpointId: string) => void stopped.push(endpointId) },
    } as unknown as EndpointParts<unknown>;
    return deleteEndpoint(parts, { tenantId: "ten_1", mode: "live", endpointId: "whe_1" }).then(
      () => stopped,
    );
  };

  it("succeeds with any number of pending deliveries, and during an outage of the database", async () => {
    for (const dropWaiting of [
      async () => 3,
      () => never<number>(),
      async () => {
        throw new Error("the pool was cleared");
      },
    ]) {
      expect(await afterTimers(remove(dropWaiting))).to.deep.equal(["whe_1"]);
    }
  });
});

describe("the check of a webhook URL", () => {
  before(() => mock.timers.enable({ apis: ["setTimeout"] }));
  after(() => mock.timers.reset());

  it("refuses a name without a response from its name servers like any other invalid URL", async () => {
    const check = checkUrl("https://hooks.example.com/", [443], () => never());
    const error = await afterTimers(check.catch((thrown: unknown) => thrown));
    expect(error).to.be.instanceOf(AppError);
    expect((error as AppError).code).to.equal("validation_error");
    await checkUrl("https://hooks.example.com/", [443], async () => undefined);
  });
});
