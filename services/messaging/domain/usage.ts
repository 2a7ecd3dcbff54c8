/**
 * Counts of messages by the quarter hour of their creation, mode, country, sender ID, API key and campaign, and in
 * each by status. A change of a message takes it from the count of one status and adds it to that of another, so
 * changes may be summed in any order.
 */
import { idTimeMs } from "../../shared/core/ids.ts";
import type { MessageStatus } from "../../shared/core/message-status.ts";
import type { Message, MessageMode } from "./message.ts";

/** Every time zone's days begin at a quarter hour of UTC. */
export const USAGE_STEP_MS = 900_000;

/** The last characters of a ULID; those before them are its instant. */
const ULID_RANDOM_CHARS = 16;

/** The country of a text that is no number: a code that ISO 3166 leaves to its users. */
export const NO_COUNTRY = "ZZ";

/** The messages that are counted together; empty texts stand for none. */
export type UsageKey = {
  readonly tenantId: string;
  readonly mode: MessageMode;
  /** The start of the quarter hour. */
  readonly atMs: number;
  readonly country: string;
  readonly from: string;
  readonly keyId: string;
  readonly campaignId: string;
};

/** The amounts that are added to the counts of one status. */
export type UsageChange = {
  readonly key: UsageKey;
  readonly status: MessageStatus;
  readonly messages: number;
  readonly segments: number;
  readonly amount: bigint;
};

/** The dimensions of a group. */
export const USAGE_DIMENSIONS = [
  "day",
  "hour",
  "status",
  "country",
  "sender_id",
  "key",
  "campaign",
] as const;

/** One dimension. */
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

/** The counts of a group, with its values of the dimensions. */
export type UsageGroup = {
  readonly values: Readonly<Partial<Record<UsageDimension, string>>>;
  readonly messages: number;
  readonly segments: number;
  readonly amount: bigint;
};

/** The document id of a key's counts. */
export function usageId(key: UsageKey): string {
  const { tenantId, mode, atMs, country, from, keyId, campaignId } = key;
  return `${tenantId}|${mode}|${atMs.toString(36)}|${country}|${from}|${keyId}|${campaignId}`;
}

/** Consecutive messages with one key and status, and their sums. */
type Run = {
  readonly first: Message;
  /** The last id without its random part: the instant of its creation. */
  instant: string;
  messages: number;
  segments: number;
  amount: bigint;
};

/** The counts of new messages. Sums runs first: consecutive messages of a send mostly have one key and status. */
export function countNew(messages: readonly Message[]): UsageChange[] {
  const runs: Run[] = [];
  let run: Run | undefined;
  for (const message of messages) {
    if (run === undefined || !belongsTo(run, message)) {
      run = { first: message, instant: instantOf(message), messages: 0, segments: 0, amount: 0n };
      runs.push(run);
    }
    run.messages += 1;
    run.segments += message.segments;
    if (message.amount !== undefined) run.amount += message.amount;
  }
  return sumUsage(
    runs.flatMap(({ first, messages, segments, amount }) =>
      contribution(first, 1).map((one) => ({ ...one, messages, segments, amount })),
    ),
  );
}

/** Whether a message has the key and status of a run. */
function belongsTo(run: Run, message: Message): boolean {
  const { first } = run;
  return (
    message.status === first.status &&
    message.country === first.country &&
    message.campaignId === first.campaignId &&
    message.keyId === first.keyId &&
    message.from === first.from &&
    message.mode === first.mode &&
    message.tenantId === first.tenantId &&
    isInQuarterHourOf(run, message)
  );
}

/** Whether a message is of the quarter hour of a run. Messages of one instant need no further parsing. */
function isInQuarterHourOf(run: Run, message: Message): boolean {
  if (message.id.startsWith(run.instant)) return true;
  if (quarterHourOf(message) !== quarterHourOf(run.first)) return false;
  run.instant = instantOf(message);
  return true;
}

function instantOf({ id }: Message): string {
  return id.slice(0, -ULID_RANDOM_CHARS);
}

/** The differences that changed messages make to the counts. */
export function countChanged(
  changes: readonly { readonly before: Message; readonly after: Message }[],
): UsageChange[] {
  const moved = changes.filter(
    ({ before, after }) => before.status !== after.status || before.amount !== after.amount,
  );
  return sumUsage(
    moved.flatMap(({ before, after }) => [...contribution(before, -1), ...contribution(after, 1)]),
  );
}

/** Adds changes of the same key and status up; those that cancel out are left out. */
export function sumUsage(changes: readonly UsageChange[]): UsageChange[] {
  const sums = new Map<string, UsageChange>();
  for (const change of changes) {
    const id = `${usageId(change.key)}|${change.status}`;
    const sum = sums.get(id);
    sums.set(id, sum === undefined ? change : plus(sum, change));
  }
  return [...sums.values()].filter(
    ({ messages, segments, amount }) => messages !== 0 || segments !== 0 || amount !== 0n,
  );
}

function plus(a: UsageChange, b: UsageChange): UsageChange {
  return {
    ...a,
    messages: a.messages + b.messages,
    segments: a.segments + b.segments,
    amount: a.amount + b.amount,
  };
}

/** The counts of one message. A message of version 0.2.0 has no country and was never counted, so it has none. */
function contribution(message: Message, sign: 1 | -1): UsageChange[] {
  const { country, tenantId, mode, from, keyId = "", campaignId = "", status } = message;
  if (country === undefined) return [];
  const atMs = quarterHourOf(message);
  return [
    {
      key: { tenantId, mode, atMs, country, from, keyId, campaignId },
      status,
      messages: sign,
      segments: sign * message.segments,
      amount: BigInt(sign) * (message.amount ?? 0n),
    },
  ];
}

/** The start of the quarter hour of a message's creation, in milliseconds. */
function quarterHourOf({ id }: Message): number {
  const createdMs = idTimeMs(id);
  return createdMs - (createdMs % USAGE_STEP_MS);
}
