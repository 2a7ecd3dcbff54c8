import { createHmac, timingSafeEqual } from "node:crypto";

/** The settings of a connector's HTTP receipts. */
export type HttpReceiptSettings = {
  readonly receiptSecret: string;
  /** JSON pointer to the carrier's status (RFC 6901). */
  readonly receiptStatusPointer: string;
  /** The carrier's statuses, mapped to `delivered`, `acknowledged`, `undelivered` or an error code of ours. */
  readonly receiptStatuses: Readonly<Record<string, string>>;
};

/** The message of a receipt URL. */
export type ReceiptPlace = { readonly connectorId: string; readonly messageId: string };

const PATH = /^\/receipts\/([a-z0-9-]{1,32})\/(msg_[0-9A-HJKMNP-TV-Z]{26})\/([0-9a-f]{64})$/;

/** The URL that a carrier calls for one message. Its signature proves that this service issued it. */
export function makeReceiptUrl(base: string, place: ReceiptPlace, secret: string): string {
  const { connectorId, messageId } = place;
  return `${base.replace(/\/+$/, "")}/receipts/${connectorId}/${messageId}/${sign(place, secret)}`;
}

/** Parses the path of a receipt URL; `isSigned` checks its signature with a secret. */
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
