import type { Idempotency, KeyedAnswer } from "../../shared/core/run-once.ts";
import type { SecretBox } from "../../shared/io/encryption.ts";

/** Stored answers, encrypted: that of a new key holds its secret. */
export type SealedAnswers = Idempotency & {
  /** The form in which an answer is stored, in the transaction of its effect. */
  seal(answer: KeyedAnswer): KeyedAnswer;
};

/** An answer opens only under its own idempotency key. */
export function createSealedAnswers(answers: Idempotency, box: SecretBox): SealedAnswers {
  const seal = ({ scope, fingerprint, response }: KeyedAnswer): KeyedAnswer => {
    const sealed = box.seal(Buffer.from(response).toString("base64"), scope);
    return { scope, fingerprint, response: Buffer.from(sealed) };
  };
  return {
    ...answers,
    seal,
    async find(key) {
      const stored = await answers.find(key);
      if (stored === undefined) return undefined;
      return Buffer.from(box.open(Buffer.from(stored).toString(), key.scope), "base64");
    },
    save: (answer) => answers.save(seal(answer)),
  };
}
