import { expect } from "chai";
import { newId } from "../../services/shared/core/ids.ts";
import { codeOf } from "./store-suite.ts";

/** Two fingerprints of requests. */
export const ONE = new Uint8Array(32).fill(1);
export const TWO = new Uint8Array(32).fill(2);

/** Runs work under the lock of a key, in one of two processes. */
type Exclusively = <T>(key: string, fingerprint: Uint8Array, work: () => Promise<T>) => Promise<T>;

/** The promises of `exclusively` in each port of idempotency keys; `ofProcess` gives it for process 0 or 1. */
export function exclusiveSuite(ofProcess: (process: 0 | 1) => Exclusively): void {
  const nothing = async () => "done";
  const inProcess = (process: 0 | 1, key: string, fingerprint: Uint8Array) =>
    codeOf(ofProcess(process)(key, fingerprint, nothing));

  it("runs the work of one request at a time, in any process, and refuses the others", async () => {
    const key = newId("request");
    const result = await ofProcess(0)(key, ONE, async () => {
      for (const process of [0, 1] as const) {
        expect(await inProcess(process, key, ONE)).to.equal("conflict");
        expect(await inProcess(process, key, TWO)).to.equal("idempotency_key_reused");
        expect(await inProcess(process, newId("request"), ONE), "another key").to.equal("done");
      }
      return 7;
    });
    expect(result).to.equal(7);
  });

  it("runs the work of one of many requests at once", async () => {
    const key = newId("request");
    let finish = () => {};
    const isOver = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let begun = 0;
    let open = 20;
    const calls = Array.from({ length: open }, async (_, at) => {
      const work = async () => {
        begun += 1;
        await isOver;
      };
      const code = await codeOf(ofProcess(at % 2 === 0 ? 0 : 1)(key, ONE, work));
      open -= 1;
      if (open === 1) finish();
      return code;
    });
    const codes = await Promise.all(calls);
    expect(codes.filter((code) => code === "conflict")).to.have.length(19);
    expect(begun).to.equal(1);
  });

  it("frees the key for any request when the work ends or fails", async () => {
    const key = newId("request");
    const fault = new Error("a fault");
    const failed = ofProcess(0)(key, ONE, () => Promise.reject(fault));
    expect(await failed.catch((error: unknown) => error)).to.equal(fault);
    expect(await inProcess(1, key, TWO)).to.equal("done");
    expect(await inProcess(0, key, ONE)).to.equal("done");
  });
}
