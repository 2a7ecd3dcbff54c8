import type { Mode } from "../../../proto/gen/sms/v1/common_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { isId } from "../../shared/core/ids.ts";
import { readMode } from "../../shared/rpc/mode.ts";
import type { Scope } from "../app/ports.ts";

type Target = { readonly tenantId: string; readonly mode: Mode; readonly campaignId: string };

/** The owner and the id of the campaign that a request names; a malformed id is `not_found`, like an unknown one. */
export function targetOf({ tenantId, mode, campaignId }: Target): { scope: Scope; id: string } {
  // Without a tenant the query would find campaigns of all tenants.
  if (tenantId === "" || !isId("campaign", campaignId)) {
    throw new AppError("not_found", "There is no such campaign.");
  }
  return { scope: { tenantId, mode: readMode(mode) }, id: campaignId };
}
