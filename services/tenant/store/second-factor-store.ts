import { Binary, type ClientSession, type Db, Long, type MongoClient } from "mongodb";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import type { SecretBox } from "../../shared/io/encryption.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey, wrapMongoError } from "../../shared/io/mongo-errors.ts";
import type { SecondFactorStore } from "../app/identity-ports.ts";
import type { SecondFactor, UsedCode } from "../domain/second-factor.ts";

/** A document of `second_factors`. */
export type SecondFactorDocument = {
  /** The person's id. */
  _id: string;
  /** The secret, encrypted with the person's id as context. */
  secret: string;
  /** Absent until a code has confirmed the secret. */
  enabled_at?: Date;
  last_step: Long;
  /** SHA-256 of each unused recovery code. */
  recovery: Binary[];
};

/** The MongoDB adapter of the storage of second factors. */
export function createSecondFactorStore(
  client: MongoClient,
  db: Db,
  audit: AuditLog,
  box: SecretBox,
): SecondFactorStore {
  const factors = db.collection<SecondFactorDocument>("second_factors");

  return {
    async find(personId) {
      const found = await guardMongo(factors.findOne({ _id: personId }));
      return found === null ? undefined : toFactor(found, box);
    },
    async begin(personId, secret) {
      const sealed = box.seal(Buffer.from(secret).toString("base64"), contextOf(personId));
      try {
        // When the factor is on, the filter matches nothing, and the insertion fails because the id exists.
        await factors.updateOne(
          { _id: personId, enabled_at: { $exists: false } },
          { $set: { secret: sealed, last_step: Long.ZERO, recovery: [] } },
          { upsert: true },
        );
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw wrapMongoError(error);
      }
    },
    enable: (tenantId, before, after) =>
      runTransaction(client, async (session) => {
        const { personId } = before;
        const current = await factors.findOne({ _id: personId }, { session });
        if (current === null || current.enabled_at !== undefined) return false;
        // The code confirms the secret that was read, not a new one from another browser window.
        if (!Buffer.from(toFactor(current, box).secret).equals(before.secret)) return false;
        await factors.updateOne(
          { _id: personId },
          {
            $set: {
              enabled_at: new Date(after.enabledAtMs ?? 0),
              last_step: Long.fromNumber(after.lastStep),
              recovery: after.recoveryHashes.map((one) => new Binary(one)),
            },
          },
          { session },
        );
        const enabled = { secondFactor: true };
        await audit.write(
          { tenantId, subject: personId, before: { secondFactor: false }, after: enabled },
          session,
        );
        return true;
      }),
    remove: (tenantId, personId) =>
      runTransaction(client, async (session) => {
        const own = { _id: personId, enabled_at: { $exists: true } };
        const removed = await factors.deleteOne(own, { session });
        if (removed.deletedCount === 0) return false;
        const after = { secondFactor: false };
        await audit.write(
          { tenantId, subject: personId, before: { secondFactor: true }, after },
          session,
        );
        return true;
      }),
    async findEnabled(personIds) {
      const wanted = { _id: { $in: [...personIds] }, enabled_at: { $exists: true } };
      const found = factors.find(wanted, { projection: { _id: 1 } });
      return new Set((await guardMongo(found.toArray())).map(({ _id }) => _id));
    },
  };
}

/** Uses up a code in the caller's transaction; false when another call has used it. */
export async function spendCode(
  db: Db,
  personId: string,
  used: UsedCode,
  session: ClientSession,
): Promise<boolean> {
  const factors = db.collection<SecondFactorDocument>("second_factors");
  if ("step" in used) {
    const step = Long.fromNumber(used.step);
    const spent = await factors.updateOne(
      { _id: personId, last_step: { $lt: step } },
      { $set: { last_step: step } },
      { session },
    );
    return spent.matchedCount === 1;
  }
  const hash = new Binary(used.recoveryHash);
  const spent = await factors.updateOne(
    { _id: personId, recovery: hash },
    { $pull: { recovery: hash } },
    { session },
  );
  return spent.matchedCount === 1;
}

/** The context of the encryption: a ciphertext can be decrypted only for its own person. */
function contextOf(personId: string): string {
  return `second_factor ${personId}`;
}

function toFactor(document: SecondFactorDocument, box: SecretBox): SecondFactor {
  return {
    personId: document._id,
    secret: Buffer.from(box.open(document.secret, contextOf(document._id)), "base64"),
    ...(document.enabled_at === undefined ? {} : { enabledAtMs: document.enabled_at.getTime() }),
    lastStep: Number(document.last_step),
    recoveryHashes: document.recovery.map((one) => Buffer.from(one.buffer)),
  };
}
