import type { Page } from "../../api/types.ts";
import { rpc } from "../api/rpc.ts";
import type { Tenant } from "../api/types.ts";

/** The most that one call names. */
const IDS_MAX = 256;

/** The names of tenants, for lists over all of them. */
export async function tenantNames(
  ids: Iterable<string>,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)].filter((id) => id !== "");
  const names = new Map<string, string>();
  for (let at = 0; at < wanted.length; at += IDS_MAX) {
    const request = { ids: wanted.slice(at, at + IDS_MAX) };
    const found = await rpc<{ tenants: Tenant[] }>("TenantService/GetTenants", request, signal);
    for (const { id, name } of found.tenants) names.set(id, name);
  }
  return names;
}

/** A page of a list over all tenants: each row with the name of its tenant. */
export async function withTenantNames<T extends { readonly tenantId: string }>(
  rows: readonly T[],
  nextCursor: string,
): Promise<Page<T & { readonly tenantName: string }>> {
  const names = await tenantNames(rows.map(({ tenantId }) => tenantId));
  const data = rows.map((row) => ({ ...row, tenantName: names.get(row.tenantId) ?? row.tenantId }));
  return { data, next_cursor: nextCursor || null };
}
