import type { Db, MongoClient } from "mongodb";
import { AppError } from "../../shared/core/errors.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { runTransaction } from "../../shared/io/mongo.ts";
import { guardMongo, isDuplicateKey } from "../../shared/io/mongo-errors.ts";
import type { SettingsStore } from "../app/ports.ts";
import type { InboundNumber } from "../domain/inbound.ts";
import { type Keywords, NO_KEYWORDS } from "../domain/keywords.ts";

type NumberDocument = {
  _id: string;
  number: string;
  tenant_id: string;
  keyword: string;
  sender: string;
  created_at: Date;
};

type KeywordsDocument = Keywords & { _id: string };

/** Owners of one number, at most: each has a keyword of its own. */
const OWNERS_MAX = 1000;

/** Numbers and keywords in MongoDB. */
export function createSettingsStore(client: MongoClient, db: Db, audit: AuditLog): SettingsStore {
  const numbers = db.collection<NumberDocument>("inbound_numbers");
  const keywords = db.collection<KeywordsDocument>("keywords");

  async function find(filter: object, max = OWNERS_MAX): Promise<InboundNumber[]> {
    const found = await guardMongo(
      numbers.find(filter).sort({ number: 1, keyword: 1 }).limit(max).toArray(),
    );
    return found.map(toNumber);
  }

  return {
    async addNumber({ id, number, tenantId, keyword, sender, createdAtMs }) {
      const document = {
        ...{ _id: id, number, tenant_id: tenantId, keyword, sender },
        created_at: new Date(createdAtMs),
      };
      const change = { tenantId, subject: id, before: undefined, after: document };
      try {
        await runTransaction(client, async (session) => {
          await numbers.insertOne(document, { session });
          await audit.write(change, session);
        });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        throw new AppError("already_exists", "The number and keyword have an owner.");
      }
    },
    listNumbers: (tenantId) => find(tenantId === undefined ? {} : { tenant_id: tenantId }),
    numbersOf: (digits) => find({ number: { $in: [...digits] } }, OWNERS_MAX * digits.length),
    async removeNumber(tenantId, id) {
      return runTransaction(client, async (session) => {
        const before = await numbers.findOneAndDelete(
          { _id: id, tenant_id: tenantId },
          { session },
        );
        if (before === null) return false;
        await audit.write({ tenantId, subject: id, before, after: undefined }, session);
        return true;
      });
    },
    async keywords(tenantId) {
      const found = await guardMongo(keywords.findOne({ _id: tenantId }));
      return found === null ? NO_KEYWORDS : toWords(found);
    },
    async keywordsOf(tenantIds) {
      const found = await guardMongo(keywords.find({ _id: { $in: [...tenantIds] } }).toArray());
      return new Map(found.map((document) => [document._id, toWords(document)]));
    },
    async setKeywords(tenantId, words) {
      const document = { ...words, _id: tenantId };
      await runTransaction(client, async (session) => {
        const options = { session, upsert: true };
        const before = await keywords.findOneAndReplace({ _id: tenantId }, document, options);
        const change = { tenantId, subject: "keywords", before: before ?? undefined };
        await audit.write({ ...change, after: document }, session);
      });
    },
  };
}

function toWords({ _id, ...words }: KeywordsDocument): Keywords {
  return words;
}

function toNumber(document: NumberDocument): InboundNumber {
  return {
    id: document._id,
    number: document.number,
    tenantId: document.tenant_id,
    keyword: document.keyword,
    sender: document.sender,
    createdAtMs: document.created_at.getTime(),
  };
}
