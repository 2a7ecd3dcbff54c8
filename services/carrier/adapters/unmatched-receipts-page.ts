import { maskNumber } from "../../shared/core/phone.ts";
import type { GuardedPage } from "../../shared/rpc/authenticated-page.ts";
import type { SubmissionStore } from "../app/ports.ts";

const LIST_MAX = 1000;

/** `GET /unmatched-receipts` on the ops port: receipts of the last three days without a message. */
export function unmatchedReceiptsPage(store: Pick<SubmissionStore, "listUnmatched">): GuardedPage {
  return {
    path: "/unmatched-receipts",
    method: "sms.v1.Carrier/ListUnmatchedReceipts",
    answer(response) {
      store.listUnmatched(LIST_MAX).then(
        (receipts) => {
          const shown = receipts.map(({ receipt, receivedAtMs }) => ({
            connector: receipt.connectorId,
            carrier_ids: receipt.keys,
            verdict: receipt.verdict,
            carrier_code: receipt.carrierCode,
            to: maskNumber(receipt.to),
            received_at: new Date(receivedAtMs).toISOString(),
          }));
          response.writeHead(200, { "content-type": "application/json" });
          response.end(`${JSON.stringify(shown)}\n`);
        },
        () => {
          response.writeHead(503, { "content-type": "text/plain" });
          response.end("the database does not answer\n");
        },
      );
    },
  };
}
