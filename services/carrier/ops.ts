import { maskNumber } from "../shared/core/phone.ts";
import type { OpsHandler } from "../shared/io/ops-server.ts";
import type { CarrierStore } from "./store.ts";

const LIST_MAX = 1000;

/** Answers `GET /unmatched-receipts` on the ops port: receipts of three days without a message. */
export function answerUnmatched(store: Pick<CarrierStore, "listUnmatched">): OpsHandler {
  return (request, response) => {
    if (request.method !== "GET" || request.url?.split("?", 1)[0] !== "/unmatched-receipts") {
      return false;
    }
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
    return true;
  };
}
