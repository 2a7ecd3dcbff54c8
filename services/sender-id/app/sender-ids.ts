import type { Clock } from "../../shared/core/clock.ts";
import { AppError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import {
  createSenderId,
  nameKey,
  type Review,
  review,
  type SenderId,
  type SenderIdStatus,
} from "../domain/sender-id.ts";

/** Which sender IDs a list shows. */
export type SenderIdFilter = {
  readonly statuses: readonly SenderIdStatus[];
  /** Lower-case name, or empty for all. */
  readonly nameKey: string;
  readonly limit: number;
  /** Lower-case name after which the page begins. */
  readonly afterKey: string;
};

/** A tenant's name for itself. */
export type SenderName = { readonly tenantId: string; readonly key: string };

/** A sender ID after its review, and what its event tells beside it. */
export type Reviewed = {
  readonly senderId: SenderId;
  readonly action: Review;
  readonly isTenantActive: boolean;
};

/** What the service needs kept. */
export type SenderIdStore = {
  /** Throws `already_exists` when the tenant has the name. */
  insert(senderId: SenderId): Promise<void>;
  find(id: string): Promise<SenderId | undefined>;
  /** Those that exist, in any order; `key` is the lower-case name. At most 32 at once. */
  findByNames(names: readonly SenderName[]): Promise<readonly SenderId[]>;
  list(tenantId: string, filter: SenderIdFilter): Promise<readonly SenderId[]>;
  /** Saves a review with its event in one transaction, if the status is still `from`. */
  saveReview(reviewed: Reviewed, from: SenderIdStatus): Promise<boolean>;
};

/** Tells caches elsewhere to forget a tenant's sender IDs. */
export type SenderIdNotices = { changed(tenantId: string): void };

/** Asks whether a tenant exists and may send. */
export type Tenants = { isActive(tenantId: string): Promise<boolean> };

/** The use cases of sender IDs. */
export type SenderIdService = ReturnType<typeof createSenderIdService>;

const ALL: readonly SenderIdStatus[] = ["pending", "approved", "rejected", "suspended"];

/** Makes the service over its ports. */
export function createSenderIdService(
  store: SenderIdStore,
  notices: SenderIdNotices,
  tenants: Tenants,
  clock: Clock,
) {
  /** In the order of the names; undefined where there is none. */
  async function resolveMany(
    names: readonly { readonly tenantId: string; readonly name: string }[],
  ): Promise<(SenderId | undefined)[]> {
    const asked = names.map(({ tenantId, name }) => ({ tenantId, key: nameKey(name) }));
    const found = await store.findByNames(asked);
    return asked.map(({ tenantId, key }) =>
      found.find((one) => one.tenantId === tenantId && nameKey(one.name) === key),
    );
  }

  async function find(tenantId: string, idOrName: string): Promise<SenderId> {
    const found = idOrName.startsWith("sid_")
      ? await store.find(idOrName)
      : (await resolveMany([{ tenantId, name: idOrName }]))[0];
    if (found === undefined || (tenantId !== "" && found.tenantId !== tenantId)) {
      throw new AppError("not_found", "There is no such sender ID.");
    }
    return found;
  }

  return {
    /** Errors: `not_found` for the tenant, `validation_error`, `already_exists`. */
    async create(tenantId: string, name: string, isApproved: boolean): Promise<SenderId> {
      await tenants.isActive(tenantId);
      const senderId = createSenderId({
        id: newId("senderId"),
        tenantId,
        name,
        isApproved,
        nowMs: clock.now(),
      });
      await store.insert(senderId);
      notices.changed(tenantId);
      return senderId;
    },

    /** One tenant's sender IDs by name, and the cursor of the next page or an empty text. */
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
    ): Promise<SenderId> {
      const before = await find(tenantId, idOrName);
      const after = review(before, action, reason, clock.now());
      if (after === before) return before;
      const isTenantActive = await tenants.isActive(after.tenantId);
      const reviewed = { senderId: after, action, isTenantActive };
      if (await store.saveReview(reviewed, before.status)) {
        notices.changed(after.tenantId);
        return after;
      }
      // Someone else was quicker: with the same review, or with one that is to be seen first.
      const now = await find(tenantId, idOrName);
      if (review(now, action, reason, clock.now()) === now) return now;
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
