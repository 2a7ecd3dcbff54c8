/** The ports of the use cases. */
import type { InboundMessage, InboundNumber, InboundPart } from "../domain/inbound.ts";
import type { Keywords } from "../domain/keywords.ts";
import type { Consent } from "../domain/suppression.ts";

/** A change that an event announces. */
export type ConsentEvent =
  | { readonly kind: "received"; readonly message: InboundMessage }
  | {
      readonly kind: "changed";
      readonly consent: Consent;
      readonly inboundMessageId: string | undefined;
    };

/** A reply to a handset. */
export type Reply = {
  /** The message that it answers. */
  readonly id: string;
  readonly tenantId: string;
  readonly from: string;
  readonly to: string;
  readonly body: string;
  readonly createdAtMs: number;
};

/** An inbound message with its effects, stored in one transaction. */
export type Arrival = {
  readonly message: InboundMessage;
  readonly consents: readonly Consent[];
  readonly reply: Reply | undefined;
};

/** The stored parts of a message in several parts. */
export type PartGroup = {
  readonly key: string;
  readonly first: InboundPart;
  readonly bodies: ReadonlyMap<number, string>;
};

/** A page of inbound messages, newest first. */
export type InboundFilter = {
  /** Undefined: messages that no tenant owns. */
  readonly tenantId: string | undefined;
  readonly from: string;
  readonly to: string;
  readonly receivedAfterMs: number;
  readonly receivedBeforeMs: number;
  readonly limit: number;
  readonly beforeId: string;
};

/** A part with the key of its group. */
export type KeyedPart = { readonly key: string; readonly part: InboundPart };

/** A message to store: the parts that arrived, and what they change. */
export type NewArrival = {
  readonly group: PartGroup;
  readonly arrival: Arrival;
  /** True when some tenant has the number that the handset wrote to. */
  readonly isKnownNumber: boolean;
};

/** Stored inbound messages. */
export type InboundStore = {
  /**
   * Stores messages with their effects, all in one transaction; returns those that are new. A message in one part is
   * stored once for its key until it is confirmed. A message in several parts marks its group as done.
   */
  arrive(items: readonly NewArrival[]): Promise<readonly NewArrival[]>;
  /**
   * Adds parts to their groups; returns the groups that are whole and not delivered yet. A part with another text than
   * the stored one starts a new group, and the earlier group is overdue.
   */
  addParts(parts: readonly KeyedPart[], waitMs: number): Promise<PartGroup[]>;
  /** Groups that have waited long enough. */
  findOverdue(nowMs: number, limit: number): Promise<PartGroup[]>;
  /** Marks the messages of these keys as confirmed: the carrier has their acknowledgement. */
  confirm(keys: readonly string[]): Promise<void>;
  list(filter: InboundFilter): Promise<InboundMessage[]>;
  find(tenantId: string | undefined, id: string): Promise<InboundMessage | undefined>;
  countUnowned(): Promise<number>;
  /** True when the unique index that refuses repeats exists. */
  hasRepeatKey(): Promise<boolean>;
  /** Pairs of messages of which the second repeats the first; of one tenant, or of all and those without one. */
  findDoubled(tenantId: string | undefined): AsyncIterable<readonly [string, string]>;
  /** About how many messages `findDoubled` reads. */
  count(tenantId: string | undefined): Promise<number>;
};

/** A page of suppressions, by number and sender. */
export type SuppressionFilter = {
  readonly tenantId: string;
  readonly number: string;
  readonly after: string;
  readonly limit: number;
};

/** Stored opt-outs and opt-ins. */
export type ConsentStore = {
  /** Saves each that is newer than the stored one; returns how many changed a state. */
  save(consents: readonly Consent[]): Promise<number>;
  list(filter: SuppressionFilter): Promise<Consent[]>;
  /** The version of a tenant's suppressions: it rises with each change. */
  version(tenantId: string): Promise<number>;
  /** Every suppressed number, at most `max`. */
  table(tenantId: string, max: number): Promise<Consent[]>;
  check(tenantId: string, sender: string, numbers: readonly string[]): Promise<string[]>;
};

/** Numbers, keywords and replies. */
export type SettingsStore = {
  addNumber(number: InboundNumber): Promise<void>;
  listNumbers(tenantId: string | undefined): Promise<InboundNumber[]>;
  /** The rows of these numbers. */
  numbersOf(digits: readonly string[]): Promise<InboundNumber[]>;
  removeNumber(tenantId: string, id: string): Promise<boolean>;
  keywords(tenantId: string): Promise<Keywords>;
  /** The words of these tenants; a tenant without its own has no entry. */
  keywordsOf(tenantIds: readonly string[]): Promise<ReadonlyMap<string, Keywords>>;
  setKeywords(tenantId: string, keywords: Keywords): Promise<void>;
};

/** Replies that are not sent yet, oldest first. */
export type ReplyStore = {
  due(limit: number): Promise<Reply[]>;
  done(id: string): Promise<void>;
};

/** The messaging service, for replies. Throws `AppError`. */
export type Replies = { send(reply: Reply): Promise<void> };

/** Notifies other processes that a tenant's suppressions have changed. */
export type ConsentInvalidation = { changed(tenantId: string): void };
