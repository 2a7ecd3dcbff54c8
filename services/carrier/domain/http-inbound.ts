/** Messages from handsets that an HTTP carrier hands over: the address of its callback, and what its body says. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { describeText } from "../../shared/core/segments.ts";
import { readPointer, readPointerText } from "./http-template.ts";
import type { InboundPart } from "./inbound-part.ts";

/** Where a connector's callbacks have the fields of a message: JSON pointers (RFC 6901). */
export type HttpInboundSettings = {
  readonly receiptSecret: string;
  readonly inboundFromPointer: string;
  readonly inboundToPointer: string;
  readonly inboundBodyPointer: string;
  /** Empty when callbacks have no id. The three pointers below are empty when messages come in one part. */
  readonly inboundIdPointer: string;
  readonly inboundReferencePointer: string;
  readonly inboundTotalPointer: string;
  readonly inboundSequencePointer: string;
};

const PATH = /^\/inbound\/([a-z0-9-]{1,32})\/([0-9a-f]{64})$/;

/** The URL to which a carrier posts messages from handsets. Its signature proves that this service issued it. */
export function makeInboundUrl(base: string, connectorId: string, secret: string): string {
  return `${base.replace(/\/+$/, "")}/inbound/${connectorId}/${sign(connectorId, secret)}`;
}

/** Parses the path of such a URL; `isSigned` checks its signature with a secret. */
export function readInboundPath(
  path: string,
): { readonly connectorId: string; isSigned(secret: string): boolean } | undefined {
  const [, connectorId, signature] = PATH.exec(path) ?? [];
  if (connectorId === undefined || signature === undefined) return undefined;
  return {
    connectorId,
    isSigned: (secret) =>
      secret !== "" &&
      timingSafeEqual(Buffer.from(signature, "hex"), Buffer.from(sign(connectorId, secret), "hex")),
  };
}

/** Signs a text that differs from every text of a receipt URL: in a receipt URL a message id follows the connector. */
function sign(connectorId: string, secret: string): string {
  return createHmac("sha256", secret).update(`inbound/${connectorId}`).digest("hex");
}

/** The message of a callback's body; undefined without a sender, a number or a text. */
export function readHttpInbound(
  document: unknown,
  settings: HttpInboundSettings,
): InboundPart | undefined {
  // Routing of the release before gives no pointers. n-1: remove in 0.4.0.
  const from = readPointerText(document, settings.inboundFromPointer || "/from");
  const to = readPointerText(document, settings.inboundToPointer || "/to");
  const body = readPointer(document, settings.inboundBodyPointer || "/text");
  if (from === "" || !/\d/.test(to) || typeof body !== "string") return undefined;
  const optional = (pointer: string) => (pointer === "" ? "" : readPointerText(document, pointer));
  const total = optional(settings.inboundTotalPointer);
  return {
    from,
    to,
    body,
    encoding: describeText(body).encoding,
    reference: referenceOf(optional(settings.inboundReferencePointer)),
    total: total === "" ? 1 : wholeOf(total),
    sequence: total === "" ? 1 : wholeOf(optional(settings.inboundSequencePointer)),
    carrierMessageId: optional(settings.inboundIdPointer),
  };
}

/** A whole number of at most nine digits; 0 for any other text: parts are counted from 1. */
function wholeOf(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/** A reference may be any text; equal texts give equal numbers. */
function referenceOf(text: string): number {
  if (text === "" || /^\d{1,9}$/.test(text)) return Number(text);
  return createHash("sha256").update(text).digest().readUInt32BE() >>> 1;
}
