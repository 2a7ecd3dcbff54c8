import type { Idempotency, KeyedAnswer } from "../../shared/core/run-once.ts";
import type { SecretBox } from "../../shared/io/encryption.ts";

/** Stored answers, encrypted: the answer to a new API key contains the key's secret. */
export type SealedAnswers = Idempotency & {
  /** The form in which an answer is stored, in the transaction of its effect. */
  seal(answer: KeyedAnswer): KeyedAnswer;
};

/** Encrypts each answer with its idempotency key as context: under another key it cannot be decrypted. */
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
