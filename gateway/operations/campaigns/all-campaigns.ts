import type { Operation } from "../operation.ts";
import type { CampaignPorts } from "./campaign-operation.ts";
import { draftOperations } from "./drafts.ts";
import { estimateOperations } from "./estimates.ts";
import { recipientOperations } from "./recipients.ts";
import { stateOperations } from "./states.ts";

export type { CampaignPorts } from "./campaign-operation.ts";

/** The operations on campaigns (`docs/contract.md#campaigns`), in the order of a campaign's life. */
export function campaignOperations(ports: CampaignPorts): Operation[] {
  return [
    ...draftOperations(ports),
    ...recipientOperations(ports),
    ...estimateOperations(ports),
    ...stateOperations(ports),
  ];
}
