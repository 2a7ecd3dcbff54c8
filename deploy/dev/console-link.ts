import type { StackFile } from "./stack-file.ts";

/** A link that signs the developer in to the console of the demo tenant, once, for an hour. */
export function consoleLink(stack: StackFile): Promise<string> {
  return makeLink(stack, "CreatePortalLink", {
    tenantId: stack.tenant_id,
    displayName: "developer",
  });
}

/** A link that signs a person in to the operators' console, once, for an hour; by default with all rights. */
export function operatorLink(
  stack: StackFile,
  person = "developer@example.com",
  role = "OPERATOR_ROLE_ADMIN",
): Promise<string> {
  return makeLink(stack, "CreateOperatorLink", { person, role });
}

async function makeLink(stack: StackFile, method: string, request: object): Promise<string> {
  const response = await fetch(`${stack.ops.tenant}/sms.v1.TenantService/${method}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${stack.operator_token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ ...request, lifetimeMs: "3600000" }),
    signal: AbortSignal.timeout(5000),
  });
  const { url } = (await response.json()) as { url?: string };
  if (url === undefined) throw new Error("the tenant service gave no link");
  return url;
}
