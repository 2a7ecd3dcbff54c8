/** What failures of the database mean: an outage, a duplicate, or a fault of ours. */
import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from "mongodb";
import { AppError } from "../core/errors.ts";

/**
 * Codes by which a server says that it cannot now and may soon, in MongoDB's list of error codes. With
 * some of them a write was done and is not confirmed, so what follows must be idempotent, as after
 * any lost answer.
 */
const OUTAGE_CODES: ReadonlySet<unknown> = new Set([
  6, // HostUnreachable
  7, // HostNotFound
  50, // MaxTimeMSExpired
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  262, // ExceededTimeLimit
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
  14031, // OutOfDiskSpace
]);

const OUTAGE_LABELS = [
  "RetryableWriteError",
  "TransientTransactionError",
  "UnknownTransactionCommitResult",
];

const OUTAGE_NAMES: ReadonlySet<string> = new Set([
  "MongoPoolClearedError",
  "MongoWaitQueueTimeoutError",
  "MongoOperationTimeoutError",
  // A server left the replica set, or the client is closing, while something was on its way to it.
  "MongoPoolClosedError",
  "MongoServerClosedError",
  "MongoTopologyClosedError",
]);

/** What a socket says of itself; the driver hands some of these on as they are. */
const SOCKET_CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ERR_STREAM_DESTROYED",
  "ERR_STREAM_WRITE_AFTER_END",
  "ETIMEDOUT",
]);

/** What the driver's own errors of connections and pools have, also when a bulk write copied them. */
const CONNECTION_FIELDS = ["beforeHandshake", "reason", "address"] as const;

/** Tells whether a failure is the connection's: the server may have done what it was asked, or not. */
export function isConnectionFault(error: unknown): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) return true;
  if (!(error instanceof Error)) return false;
  if ("code" in error && SOCKET_CODES.has(error.code)) return true;
  // A bulk write's error is made of the one it met, and is not an instance of that one's class.
  if (!(error instanceof MongoBulkWriteError) || typeof error.code === "number") return false;
  return CONNECTION_FIELDS.some((field) => field in error);
}

/** Tells whether a failure is the server's or the network's, so that the same work may succeed later. */
export function isMongoOutage(error: unknown): boolean {
  if (error instanceof AppError) return error.code === "service_unavailable";
  if (isConnectionFault(error)) return true;
  if (!(error instanceof MongoError)) return false;
  if (isUnconfirmed(error)) return true;
  return (
    OUTAGE_NAMES.has(error.name) ||
    OUTAGE_LABELS.some((label) => error.hasErrorLabel(label)) ||
    (error instanceof MongoServerError && OUTAGE_CODES.has(error.code))
  );
}

/** Tells whether a bulk write did something of which it is not sure that it will stay. */
function isUnconfirmed(error: MongoError): boolean {
  if (!(error instanceof MongoBulkWriteError)) return false;
  // An error of the server's that was copied into this one may have a result of another shape.
  const result: Partial<MongoBulkWriteError["result"]> | undefined = error.result;
  return result?.getWriteConcernError?.() !== undefined;
}

/** Wraps driver errors once, at the adapter's edge: outages become `service_unavailable`. */
export function wrapMongoError(error: unknown): unknown {
  if (error instanceof AppError || !isMongoOutage(error)) return error;
  return new AppError("service_unavailable", "The service is busy; try again shortly.", {
    cause: error,
  });
}

/** Awaits a driver call, its errors wrapped. */
export async function guardMongo<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw wrapMongoError(error);
  }
}

/** Tells whether a failure is a breach of a unique index (code 11000). */
export function isDuplicateKey(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === 11000;
}
