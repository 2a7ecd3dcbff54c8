import { expect } from "chai";
import { AppError } from "../../../services/shared/core/errors.ts";
import { createLogger } from "../../../services/shared/io/log.ts";
import {
  deleteEndpoint,
  type EndpointParts,
} from "../../../services/webhook/app/endpoint-management.ts";
import { checkUrl } from "../../../services/webhook/app/url-check.ts";

const never = <T>() => new Promise<T>(() => undefined);

describe("an endpoint that is deleted", function () {
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

  it("is gone for its owner however much waits for it, and though the database went away after that", async () => {
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

describe("the check of a URL", function () {
  this.timeout(10_000);

  it("refuses a name of which no name server says anything in time, like any other it cannot use", async () => {
    const check = checkUrl("https://hooks.example.com/", [443], () => never());
    const error = await check.catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(AppError);
    expect((error as AppError).code).to.equal("validation_error");
    await checkUrl("https://hooks.example.com/", [443], async () => undefined);
  });
});
