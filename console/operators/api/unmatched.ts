import { call, data } from "../../api/http.ts";
import type { One } from "../../api/types.ts";

export type UnmatchedReceipt = {
  readonly connector: string;
  readonly carrier_ids: readonly string[];
  readonly verdict: string;
  readonly carrier_code: string;
  readonly to: string;
  readonly received_at: string;
};

/** The receipts of the last three days without a message. */
export function unmatchedReceipts(signal: AbortSignal): Promise<UnmatchedReceipt[]> {
  const path = "/operators/api/unmatched-receipts";
  return data(call<One<UnmatchedReceipt[]>>("GET", path, { signal }));
}
