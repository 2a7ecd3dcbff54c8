import type { StackFile } from "./stack-file.ts";

/** A link that signs the developer in to the console of the demo tenant, once, for an hour. */
export async function consoleLink(stack: StackFile): Promise<string> {
  const response = await fetch(`${stack.ops.tenant}/sms.v1.TenantService/CreatePortalLink`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${stack.operator_token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      tenantId: stack.tenant_id,
      displayName: "developer",
      lifetimeMs: "3600000",
    }),
    signal: AbortSignal.timeout(5000),
  });
  const { url } = (await response.json()) as { url?: string };
  if (url === undefined) throw new Error("the tenant service gave no link to the console");
  return url;
}
