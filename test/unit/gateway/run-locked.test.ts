import { expect } from "chai";
import type { KeyLocks } from "../../../gateway/idempotency/lock.ts";
import { runLocked } from "../../../gateway/idempotency/run-locked.ts";
import { AppError } from "../../../services/shared/core/errors.ts";

describe("a keyed request", () => {
  const keyLocks = (state: Awaited<ReturnType<KeyLocks["acquire"]>>["state"]) => {
    const released: string[] = [];
    const keeper: KeyLocks = {
      acquire: async (scope) => ({ state, release: async () => void released.push(scope) }),
    };
    return { keeper, released };
  };
  const request = (lookup: () => Promise<string | undefined>) => ({
    scope: "s",
    fingerprint: Buffer.alloc(32),
    lookup,
    run: async (isLocked: boolean) => `ran, locked: ${isLocked}`,
  });
  const codeOf = (work: Promise<unknown>) => work.catch((error: AppError) => error.code);

  it("runs under its lock, and releases it", async () => {
    const { keeper, released } = keyLocks("acquired");
    expect(
      await runLocked(
        keeper,
        request(async () => undefined),
      ),
    ).to.equal("ran, locked: true");
    expect(released).to.deep.equal(["s"]);
  });

  it("releases the lock when it fails", async () => {
    const { keeper, released } = keyLocks("acquired");
    const failing = {
      ...request(async () => undefined),
      run: async () => {
        throw new AppError("validation_error", "No.");
      },
    };
    expect(await codeOf(runLocked(keeper, failing))).to.equal("validation_error");
    expect(released).to.deep.equal(["s"]);
  });

  it("runs without a lock when Redis is unavailable, and reports it", async () => {
    const { keeper } = keyLocks("unknown");
    expect(
      await runLocked(
        keeper,
        request(async () => undefined),
      ),
    ).to.equal("ran, locked: false");
  });

  it("is a conflict while the same request runs", async () => {
    const { keeper } = keyLocks("busy_same");
    expect(
      await codeOf(
        runLocked(
          keeper,
          request(async () => undefined),
        ),
      ),
    ).to.equal("conflict");
  });

  for (const [state, when] of [
    ["busy_same", "the same request has just finished"],
    ["busy_other", "a request with another body has the lock"],
  ] as const) {
    it(`gets the stored response when ${when}`, async () => {
      const { keeper } = keyLocks(state);
      const asked = request(async () => "stored");
      expect(await runLocked(keeper, asked)).to.equal("stored");
    });
  }

  it("is a conflict when the lookup is unavailable and the same request holds the lock", async () => {
    const { keeper } = keyLocks("busy_same");
    const lookup = async () => {
      throw new AppError("service_unavailable", "Away.");
    };
    expect(await codeOf(runLocked(keeper, request(lookup)))).to.equal("conflict");
  });

  it("is service_unavailable when the lookup is unavailable and another body holds the lock", async () => {
    const { keeper } = keyLocks("busy_other");
    const lookup = async () => {
      throw new AppError("service_unavailable", "Away.");
    };
    expect(await codeOf(runLocked(keeper, request(lookup)))).to.equal("service_unavailable");
  });

  for (const [what, release, isWaitedFor] of [
    ["waits for the release of its lock", 20, true],
    ["does not wait for a release that hangs", 60_000, false],
  ] as const) {
    it(`when it fails ${what}`, async () => {
      let isFree = false;
      const keeper: KeyLocks = {
        acquire: async () => ({
          state: "acquired",
          release: async () => {
            await new Promise((resolve) => setTimeout(resolve, release).unref());
            isFree = true;
          },
        }),
      };
      const failing = {
        ...request(async () => undefined),
        run: async () => {
          throw new AppError("validation_error", "No.");
        },
      };
      expect(await codeOf(runLocked(keeper, failing))).to.equal("validation_error");
      expect(isFree).to.equal(isWaitedFor);
    });
  }

  it("is idempotency_key_reused while another body runs", async () => {
    const { keeper } = keyLocks("busy_other");
    const answer = await codeOf(
      runLocked(
        keeper,
        request(async () => undefined),
      ),
    );
    expect(answer).to.equal("idempotency_key_reused");
  });
});
