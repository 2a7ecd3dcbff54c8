import type { GuardedPage } from "../../shared/rpc/authenticated-page.ts";
import { makeInboundUrl } from "../domain/http-inbound.ts";

/** `GET /inbound-urls` on the ops port: where each HTTP carrier posts messages from handsets. */
export function inboundUrlsPage(
  receiptBase: string,
  connectors: () => readonly { readonly id: string; readonly secret: string }[],
): GuardedPage {
  return {
    path: "/inbound-urls",
    method: "sms.v1.Carrier/ListInboundUrls",
    answer(response) {
      const shown = connectors()
        .filter(({ secret }) => secret !== "")
        .map(({ id, secret }) => ({ connector: id, url: makeInboundUrl(receiptBase, id, secret) }));
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`${JSON.stringify(shown)}\n`);
    },
  };
}
