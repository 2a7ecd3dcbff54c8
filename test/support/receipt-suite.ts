/** The set-up that the tests of receipts on a real store share. */
import type { SubmissionStore } from "../../services/carrier/app/ports.ts";
import {
  createReceiptMatcher,
  type ReceiptMatcher,
} from "../../services/carrier/app/receipt-matcher.ts";
import {
  createRecentSubmissions,
  type RecentSubmissions,
} from "../../services/carrier/app/recent-submissions.ts";
import type { IncomingReceipt, MatchedReceipt } from "../../services/carrier/domain/message.ts";
import type { Submission } from "../../services/carrier/domain/submission.ts";
import { migrate } from "../../services/carrier/migrate.ts";
import { createSubmissionStore } from "../../services/carrier/store/submissions.ts";
import { createManualClock } from "../../services/shared/core/clock.ts";
import { createLogger } from "../../services/shared/io/log.ts";
import { type Mongo, openMongo } from "../../services/shared/io/mongo.ts";
import { incomingReceipt, submissionOf } from "./carrier-messages.ts";
import { freshDatabase } from "./fresh-names.ts";
import { startServers, type TestServers } from "./servers.ts";

/** How long a receipt waits before it may be matched by recipient and sender. */
export const partiesAfterMs = () => 3000;

/** The matcher of one test, with all that it uses. */
export type ReceiptTest = {
  readonly store: SubmissionStore;
  readonly recent: RecentSubmissions;
  readonly matcher: ReceiptMatcher;
  /** The receipts that messaging has taken. */
  readonly recorded: readonly MatchedReceipt[];
  /** The receipts whose number contradicts their id. */
  readonly contradicted: readonly IncomingReceipt[];
  /** Makes a call while the connections to the store are closed. */
  withoutStore<T>(use: () => Promise<T>): Promise<T>;
};

/**
 * Opens a receipt matcher with a database of its own before each test of the enclosing `describe`. `refuse` stands for
 * messaging and throws when it takes none of the receipts. The clock of a suite moves on from test to test.
 */
export function openReceiptSuite(
  name: string,
  refuse: (receipts: readonly MatchedReceipt[]) => void = () => undefined,
) {
  const log = createLogger("test", "silent");
  const clock = createManualClock(Date.UTC(2026, 0, 1));
  let servers: TestServers;
  let mongo: Mongo;
  let current: ReceiptTest;

  before(async function () {
    this.timeout(60_000);
    servers = await startServers();
  });
  after(async () => {
    await servers?.stop();
  });

  const open = (database: string) => openMongo({ uri: servers.mongodbUri, database, log });

  beforeEach(async () => {
    mongo = await open(freshDatabase(name));
    await migrate(mongo.db);
    const store = createSubmissionStore(mongo.db);
    const recent = createRecentSubmissions(10);
    const recorded: MatchedReceipt[] = [];
    const contradicted: IncomingReceipt[] = [];
    const matcher = createReceiptMatcher({
      ...{ store, recent, clock, log, partiesAfterMs },
      messaging: {
        async recordReceipts(receipts) {
          refuse(receipts);
          recorded.push(...receipts);
          return [];
        },
      },
      onRecorded: () => undefined,
      onParked: () => undefined,
      onContradicted: (receipt) => contradicted.push(receipt),
      giveUpAfterMs: 60_000,
      inDoubtMaxMs: 600_000,
    });
    current = { store, recent, matcher, recorded, contradicted, withoutStore };
  });
  afterEach(async () => {
    await current.matcher.close();
    await mongo.db.dropDatabase();
    await mongo.close();
  });

  async function withoutStore<T>(use: () => Promise<T>): Promise<T> {
    await mongo.client.close(true);
    const result = await use();
    mongo = await open(mongo.db.databaseName);
    return result;
  }

  return {
    clock,
    current: () => current,
    receipt: (fields: Partial<IncomingReceipt> = {}) =>
      incomingReceipt({ occurredAtMs: clock.now(), ...fields }),
    submission: (fields: Partial<Submission> = {}) =>
      submissionOf({ atMs: clock.now(), ...fields }),
  };
}
