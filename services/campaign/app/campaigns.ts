/** Drafts: create, change, delete, read. */
import type { Clock } from "../../shared/core/clock.ts";
import { AppError, type FieldError } from "../../shared/core/errors.ts";
import { newId } from "../../shared/core/ids.ts";
import type { KeyedAnswer } from "../../shared/core/run-once.ts";
import {
  type Campaign,
  type CampaignContent,
  type CampaignMode,
  createCampaign,
  illegal,
} from "../domain/campaign.ts";
import { contentFaults } from "../domain/check-content.ts";
import type {
  CampaignFilter,
  CampaignStore,
  CampaignTransaction,
  Scope,
  Tenants,
  Work,
} from "./ports.ts";

export type CampaignParts = {
  readonly store: CampaignStore;
  readonly tenants: Tenants;
  readonly clock: Clock;
  readonly openMax: number;
};

/** Drafts and their lists. */
export type Campaigns = ReturnType<typeof createCampaigns>;

export function createCampaigns({ store, tenants, clock, openMax }: CampaignParts) {
  return {
    /** Errors: `not_found` for the tenant, `validation_error`. */
    async create(
      owner: { readonly tenantId: string; readonly mode: CampaignMode },
      content: CampaignContent,
      toAnswer: (campaign: Campaign) => KeyedAnswer | undefined,
    ): Promise<Campaign> {
      const nowMs = clock.now();
      refuse(contentFaults(content, nowMs));
      const currency = await tenants.currencyOf(owner.tenantId);
      const id = newId("campaign", nowMs);
      const campaign = createCampaign({ id, ...owner, currency, content, nowMs });
      await store.create(campaign, openMax, toAnswer(campaign));
      return campaign;
    },

    /** Errors: `not_found`, `invalid_state_transition`, `validation_error`. */
    async update(
      scope: Scope,
      id: string,
      change: (content: CampaignContent) => CampaignContent,
    ): Promise<Campaign> {
      return inDraft(store, scope, id, "change its content", async ({ campaign }) => {
        const nowMs = clock.now();
        const content = change(campaign.content);
        refuse(contentFaults(content, nowMs));
        const changed = { ...campaign, content, updatedAtMs: nowMs };
        return { result: changed, campaign: changed };
      });
    },

    /** Errors: `not_found`, `invalid_state_transition`. */
    async delete(scope: Scope, id: string): Promise<void> {
      const campaign = await findCampaign(store, scope, id);
      if (campaign.status !== "draft") throw illegal(campaign, "delete");
      if (!(await store.hide(id))) throw illegal(await findCampaign(store, scope, id), "delete");
    },

    get: (scope: Scope, id: string) => findCampaign(store, scope, id),
    list: (filter: CampaignFilter) => store.list(filter),
  };
}

/** The work of one transaction. */
type Step<T> = (tx: CampaignTransaction) => Promise<Work<T>>;

/** Finds a campaign. Errors: `not_found` when it does not exist, or belongs to another tenant or mode. */
export async function findCampaign(
  store: Pick<CampaignStore, "find">,
  scope: Scope,
  id: string,
): Promise<Campaign> {
  const campaign = await store.find(scope, id);
  if (campaign === undefined) throw notFound();
  return campaign;
}

/** Runs a transaction on a campaign of the scope. Errors: `not_found`. */
export async function inScope<T>(
  store: Pick<CampaignStore, "find" | "transact">,
  scope: Scope,
  id: string,
  work: Step<T>,
): Promise<T> {
  await findCampaign(store, scope, id);
  const result = await store.transact<T>(id, work);
  if (result === undefined) throw notFound();
  return result;
}

/** Runs a transaction on a draft; refuses any other state. */
export function inDraft<T>(
  store: CampaignStore,
  scope: Scope,
  id: string,
  action: string,
  work: Step<T>,
): Promise<T> {
  return inScope<T>(store, scope, id, async (tx) => {
    if (tx.campaign.status !== "draft") throw illegal(tx.campaign, action);
    return work(tx);
  });
}

/** Throws one error that names every wrong field. */
export function refuse(fields: readonly FieldError[]): void {
  if (fields.length === 0) return;
  const text = fields.length === 1 ? "One field is not valid." : "Some fields are not valid.";
  throw new AppError("validation_error", text, { fields });
}

function notFound(): AppError {
  return new AppError("not_found", "There is no such campaign.");
}
