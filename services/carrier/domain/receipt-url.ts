import { createHmac, timingSafeEqual } from "node:crypto";

/** What a receipt URL is about. */
export type ReceiptPlace = { readonly connectorId: string; readonly messageId: string };

const PATH = /^\/receipts\/([a-z0-9-]{1,32})\/(msg_[0-9A-HJKMNP-TV-Z]{26})\/([0-9a-f]{64})$/;

/** Makes the URL a carrier calls back for one message: signed, so nobody else can speak of it. */
export function makeReceiptUrl(base: string, place: ReceiptPlace, secret: string): string {
  const { connectorId, messageId } = place;
  return `${base.replace(/\/+$/, "")}/receipts/${connectorId}/${messageId}/${sign(place, secret)}`;
}

/** Reads a receipt URL's path; `isSigned` tells whether a secret made its signature. */
export function readReceiptPath(
  path: string,
): (ReceiptPlace & { isSigned(secret: string): boolean }) | undefined {
  const [, connectorId, messageId, signature] = PATH.exec(path) ?? [];
  if (connectorId === undefined || messageId === undefined || signature === undefined) {
    return undefined;
  }
  const place = { connectorId, messageId };
  return {
    ...place,
    isSigned: (secret) =>
      secret !== "" &&
      timingSafeEqual(Buffer.from(signature, "hex"), Buffer.from(sign(place, secret), "hex")),
  };
}

function sign({ connectorId, messageId }: ReceiptPlace, secret: string): string {
  return createHmac("sha256", secret).update(`${connectorId}/${messageId}`).digest("hex");
}
