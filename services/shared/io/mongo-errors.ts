/** Classifies errors of the database: an outage, a duplicate key, or a bug. */
import {
  MongoBulkWriteError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from "mongodb";
import { AppError } from "../core/errors.ts";

/**
 * Server error codes for a temporary condition, from MongoDB's list of error codes. With some of them a write
 * was applied and is not confirmed, so retries must be idempotent, as after any lost answer.
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
  // A server left the replica set, or the client is closing, while an operation was in transit.
  "MongoPoolClosedError",
  "MongoServerClosedError",
  "MongoTopologyClosedError",
]);

/** Error codes of sockets; the driver passes some of them on unchanged. */
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

/** Fields of the driver's connection and pool errors; a bulk write copies them to its own error. */
const CONNECTION_FIELDS = ["beforeHandshake", "reason", "address"] as const;

/** True for errors of the connection: the server may have done the operation or not. */
export function isConnectionFault(error: unknown): boolean {
  if (error instanceof MongoNetworkError || error instanceof MongoServerSelectionError) return true;
  if (!(error instanceof Error)) return false;
  if ("code" in error && SOCKET_CODES.has(error.code)) return true;
  // A bulk write copies the original error's fields and is not an instance of its class.
  if (!(error instanceof MongoBulkWriteError) || typeof error.code === "number") return false;
  return CONNECTION_FIELDS.some((field) => field in error);
}

/** True for errors of the server or the network: the same work may succeed later. */
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

/** True when a bulk write applied writes whose durability is unknown. */
function isUnconfirmed(error: MongoError): boolean {
  if (!(error instanceof MongoBulkWriteError)) return false;
  // A server error that was copied into this one may have a result of another shape.
  const result: Partial<MongoBulkWriteError["result"]> | undefined = error.result;
  return result?.getWriteConcernError?.() !== undefined;
}

/** Wraps driver errors once, in the store: outages become `service_unavailable`. */
export function wrapMongoError(error: unknown): unknown {
  if (error instanceof AppError || !isMongoOutage(error)) return error;
  return new AppError("service_unavailable", "The service is busy; try again shortly.", {
    cause: error,
  });
}

/** Awaits a driver call and wraps its error. */
export async function guardMongo<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw wrapMongoError(error);
  }
}

/** True for a violation of a unique index (code 11000). */
export function isDuplicateKey(error: unknown): error is MongoServerError {
  return error instanceof MongoServerError && error.code === 11000;
}
