import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import { checkGiven } from "../../shared/core/limits.ts";
import type { KeyedAnswer } from "../../shared/core/run-once.ts";
import type { TrafficClass } from "../../shared/core/traffic-class.ts";
import {
  checkNameRequest,
  createSenderId,
  type NameCounts,
  type NameRequest,
  nameKey,
  type Review,
  requestSenderId,
  review,
  type SenderId,
  type SenderIdStatus,
} from "../domain/sender-id.ts";

/** Filter and page of a list. */
export type SenderIdFilter = {
  readonly statuses: readonly SenderIdStatus[];
  /** Lower-case name, or empty for all. */
  readonly nameKey: string;
  readonly limit: number;
  /** The page begins after this lower-case name. */
  readonly afterKey: string;
};

/** The name of a tenant's sender ID; `key` is the lower-case name. */
export type SenderName = { readonly tenantId: string; readonly key: string };

/** A sender ID after its review, with further fields of the event. */
export type Reviewed = {
  readonly senderId: SenderId;
  readonly action: Review;
  readonly isTenantActive: boolean;
};

/** The storage port. */
export type SenderIdStore = {
  /** Throws `already_exists` when the tenant has the name. */
  insert(senderId: SenderId): Promise<void>;
  /**
   * Passes the tenant's sender ID of that name and the tenant's counts to `decide`; saves its result with the answer in
   * one transaction. Requests of one tenant exclude each other.
   */
  request(
    name: SenderName,
    decide: (present: SenderId | undefined, counts: NameCounts) => SenderId,
    answerOf: (made: SenderId) => KeyedAnswer | undefined,
  ): Promise<void>;
  find(id: string): Promise<SenderId | undefined>;
  /** Finds the sender IDs that exist, in any order. At most 32 names at once. */
  findByNames(names: readonly SenderName[]): Promise<readonly SenderId[]>;
  list(tenantId: string, filter: SenderIdFilter): Promise<readonly SenderId[]>;
  /** Lists sender IDs of all tenants in the order of ids, after `afterId`. */
  listAll(
    statuses: readonly SenderIdStatus[],
    limit: number,
    afterId: string,
  ): Promise<readonly SenderId[]>;
  /** Saves a review and its event in one transaction, unless the status has changed from `from`. */
  saveReview(reviewed: Reviewed, from: SenderIdStatus): Promise<boolean>;
};

/** Port that removes a tenant's sender IDs from the caches of other processes. */
export type SenderIdInvalidation = { changed(tenantId: string): void };

/** Port to the tenant service. `isActive` throws `not_found` when the tenant does not exist. */
export type TenantDirectory = { isActive(tenantId: string): Promise<boolean> };

/** The use cases of sender IDs. */
export type SenderIdService = ReturnType<typeof createSenderIdService>;

const ALL: readonly SenderIdStatus[] = ["pending", "approved", "rejected", "suspended"];

export function createSenderIdService(
  store: SenderIdStore,
  cacheInvalidation: SenderIdInvalidation,
  tenants: TenantDirectory,
  clock: Clock,
) {
  /** Finds sender IDs in the order of the names; undefined where none exists. */
  async function resolveMany(
    names: readonly { readonly tenantId: string; readonly name: string }[],
  ): Promise<(SenderId | undefined)[]> {
    const lookups = names.map(({ tenantId, name }) => ({ tenantId, key: nameKey(name) }));
    const found = await store.findByNames(lookups);
    return lookups.map(({ tenantId, key }) =>
      found.find((one) => one.tenantId === tenantId && nameKey(one.name) === key),
    );
  }

  async function find(tenantId: string, idOrName: string): Promise<SenderId> {
    const found = idOrName.startsWith("sid_")
      ? await store.find(idOrName)
      : (await resolveMany([{ tenantId, name: idOrName }]))[0];
    if (found === undefined || found.tenantId !== tenantId) {
      throw new AppError("not_found", "There is no such sender ID.");
    }
    return found;
  }

  return {
    /** Errors: `not_found` for the tenant, `validation_error`, `already_exists`. */
    async create(
      tenantId: string,
      name: string,
      isApproved: boolean,
      trafficClass?: TrafficClass,
    ): Promise<SenderId> {
      await tenants.isActive(tenantId);
      const senderId = createSenderId({
        id: newId("senderId"),
        tenantId,
        name,
        isApproved,
        trafficClass,
        nowMs: clock.now(),
      });
      await store.insert(senderId);
      cacheInvalidation.changed(tenantId);
      return senderId;
    },

    /**
     * A customer asks for a name; `answerOf` encodes the answer that commits with it. Errors: `not_found` for the
     * tenant, `validation_error`, `already_exists`.
     */
    async request(
      tenantId: string,
      asked: NameRequest,
      answerOf: (made: SenderId) => KeyedAnswer | undefined,
    ): Promise<void> {
      await tenants.isActive(tenantId);
      checkNameRequest(asked);
      const made = { id: newId("senderId"), tenantId, nowMs: clock.now() };
      await store.request(
        { tenantId, key: nameKey(asked.name) },
        (present, counts) => requestSenderId(present, asked, counts, made),
        answerOf,
      );
      cacheInvalidation.changed(tenantId);
    },

    /** Lists a tenant's sender IDs by name; the last page has an empty cursor. */
    async list(
      tenantId: string,
      filter: Omit<SenderIdFilter, "nameKey"> & { name: string; isUsable?: boolean | undefined },
    ): Promise<{ senderIds: readonly SenderId[]; nextCursor: string }> {
      const statuses = await narrowToUsable(tenantId, filter.statuses, filter.isUsable);
      if (statuses.length === 0) return { senderIds: [], nextCursor: "" };
      const page = await store.list(tenantId, {
        statuses: statuses.length === ALL.length ? [] : statuses,
        nameKey: nameKey(filter.name),
        limit: filter.limit + 1,
        afterKey: filter.afterKey,
      });
      const shown = page.slice(0, filter.limit);
      const last = shown.at(-1);
      const hasMore = page.length > filter.limit && last !== undefined;
      return { senderIds: shown, nextCursor: hasMore ? nameKey(last.name) : "" };
    },

    /** Lists sender IDs of all tenants; the last page has an empty cursor. */
    async listAll(
      statuses: readonly SenderIdStatus[],
      limit: number,
      afterId: string,
    ): Promise<{ senderIds: readonly SenderId[]; nextCursor: string }> {
      const page = await store.listAll(statuses, limit + 1, afterId);
      const shown = page.slice(0, limit);
      return { senderIds: shown, nextCursor: page.length > limit ? (shown.at(-1)?.id ?? "") : "" };
    },

    resolveMany,

    /** Errors: `not_found`. */
    async resolve(tenantId: string, name: string): Promise<SenderId> {
      const [found] = await resolveMany([{ tenantId, name }]);
      if (found === undefined) throw new AppError("not_found", "There is no such sender ID.");
      return found;
    },

    /** Errors: `not_found`, `invalid_state_transition`, `validation_error`, `conflict`. */
    async review(
      tenantId: string,
      idOrName: string,
      action: Review,
      reason: string,
      trafficClass?: TrafficClass,
    ): Promise<SenderId> {
      checkGiven("tenant_id", tenantId);
      const before = await find(tenantId, idOrName);
      const after = review(before, action, reason, clock.now(), trafficClass);
      if (after === before) return before;
      const isTenantActive = await tenants.isActive(after.tenantId);
      const reviewed = { senderId: after, action, isTenantActive };
      if (await store.saveReview(reviewed, before.status)) {
        cacheInvalidation.changed(after.tenantId);
        return after;
      }
      // Another review was saved first. The same review is a success; any other one is a conflict.
      const now = await find(tenantId, idOrName);
      if (review(now, action, reason, clock.now(), trafficClass) === now) return now;
      throw new AppError("conflict", "The sender ID was reviewed by someone else; look again.");
    },
  };

  async function narrowToUsable(
    tenantId: string,
    wanted: readonly SenderIdStatus[],
    isUsable: boolean | undefined,
  ): Promise<readonly SenderIdStatus[]> {
    const statuses = wanted.length === 0 ? ALL : [...new Set(wanted)];
    if (isUsable === undefined) return statuses;
    const isActive = await tenants.isActive(tenantId);
    return statuses.filter((status) => (isActive && status === "approved") === isUsable);
  }
}
