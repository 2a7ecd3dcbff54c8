import { expect } from "chai";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import {
  deleteEndpoint,
  type EndpointParts,
} from "../../../services/webhook/app/endpoint-management.ts";
import { checkUrl } from "../../../services/webhook/app/url-check.ts";

const never = <T>() => new Promise<T>(() => undefined);

describe("deleting a webhook endpoint", function () {
  this.timeout(10_000);

  const remove = (dropWaiting: () => Promise<number>) => {
    const stopped: string[] = [];
    const parts = {
      clock: { now: () => 0 },
      log: createLogger("test", "silent"),
      store: { delete: async () => true },
      queue: { dropWaiting },
      stopper: { stop: (endpointId: string) => void stopped.push(endpointId) },
    } as unknown as EndpointParts<unknown>;
    return deleteEndpoint(parts, "ten_1", "whe_1").then(() => stopped);
  };

  it("succeeds with any number of pending deliveries, and during an outage of the database", async () => {
    for (const dropWaiting of [
      async () => 3,
      () => never<number>(),
      async () => {
        throw new Error("the pool was cleared");
      },
    ]) {
      expect(await remove(dropWaiting)).to.deep.equal(["whe_1"]);
    }
  });
});

describe("the check of a webhook URL", function () {
  this.timeout(10_000);

  it("refuses a name without a response from its name servers like any other invalid URL", async () => {
    const check = checkUrl("https://hooks.example.com/", [443], () => never());
    const error = await check.catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(AppError);
    expect((error as AppError).code).to.equal("validation_error");
    await checkUrl("https://hooks.example.com/", [443], async () => undefined);
  });
});
