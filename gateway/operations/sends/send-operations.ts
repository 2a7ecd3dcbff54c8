import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  SendEndpoint,
  type SendMessagesRequestSchema,
  type SendMessagesResponse,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import {
  BATCH_EXAMPLE,
  BATCH_RESULT_EXAMPLE,
  BULK_EXAMPLE,
  MESSAGE_EXAMPLE,
  SEND_RESULT_EXAMPLE,
} from "../../docs/content/samples.ts";
import { dataOf, type OperationDoc, type Schema } from "../../docs/operation-doc.ts";
import { renderMessage } from "../../render/message.ts";
import { renderSendResult } from "../../render/send-result.ts";
import { BATCH_SEND, BULK_SEND, SINGLE_SEND } from "../../schemas/sends.ts";
import { compileSchema, type Validator } from "../../schemas/validate.ts";
import type { OperationResponse } from "../operation.ts";

/** The request of the RPC, as a plain object. */
export type SendRequest = MessageInitShape<typeof SendMessagesRequestSchema>;

/** The differences between single, bulk and batch sends. */
export type SendKind = {
  readonly endpoint: SendEndpoint;
  readonly doc: OperationDoc;
  readonly validate: Validator;
  readonly takesSendAt: boolean;
  /** Name of the list with a maximum length. */
  readonly listField?: string;
  /** Reads the recipients of a body that `validate` accepts. */
  readonly read: (body: Record<string, unknown>) => SendRequest;
  readonly respond: (response: SendMessagesResponse) => OperationResponse;
};

const ERRORS = [
  "insufficient_balance",
  "email_not_verified",
  "tenant_suspended",
  "conflict",
  "idempotency_key_reused",
  "validation_error",
  "sender_id_not_approved",
] as const;

const sendResultDoc = (example: unknown) =>
  ({
    status: 202,
    description: "Accepted; one entry per recipient, in submitted order.",
    schema: dataOf("SendResult"),
    example: { data: example },
    headers: ["Idempotent-Replayed"],
  }) as const;

/** One message to one recipient. */
export const SINGLE: SendKind = {
  endpoint: SendEndpoint.SINGLE,
  takesSendAt: true,
  doc: {
    id: "sendMessage",
    tag: "Sending",
    summary: "Send one message",
    description:
      "Accepts one message and holds its highest possible price. It is sent now, or at `send_at`.",
    body: {
      name: "SingleSend",
      isRequired: true,
      example: { to: "+2348031234567", from: "Acme", body: "Your code is 123456" },
    },
    takesIdempotencyKey: true,
    response: {
      status: 202,
      description: "Accepted: queued, or scheduled when `send_at` was given.",
      schema: dataOf("Message"),
      example: { data: MESSAGE_EXAMPLE },
      headers: ["Location", "Idempotent-Replayed"],
      leadsTo: { getMessage: "message_id", cancelMessage: "message_id" },
    },
    errors: ERRORS,
  },
  validate: compileSchema(SINGLE_SEND),
  read: (body) => ({
    body: body.body as string,
    recipients: [{ to: body.to as string }],
  }),
  respond: ({ message }) => {
    if (message === undefined) throw new AppError("internal_error", "The answer has no message.");
    return {
      status: 202,
      body: { data: renderMessage(message) },
      headers: { Location: `/v1/messages/${message.id}` },
    };
  },
};

/** The same text to many recipients. */
export const BULK: SendKind = {
  endpoint: SendEndpoint.BULK,
  takesSendAt: true,
  doc: {
    id: "sendBulk",
    tag: "Sending",
    summary: "Send the same text to many recipients",
    description:
      "Each recipient is checked on its own: one that fails becomes a rejected message with an " +
      "error and is not charged. When none passes, nothing is accepted.",
    body: { name: "BulkSend", isRequired: true, example: BULK_EXAMPLE },
    takesIdempotencyKey: true,
    response: sendResultDoc(SEND_RESULT_EXAMPLE),
    errors: ERRORS,
  },
  validate: compileSchema(withoutMaxItems(BULK_SEND, "to")),
  listField: "to",
  read: (body) => ({
    body: body.body as string,
    recipients: (body.to as string[]).map((to) => ({ to: storedForm(to) })),
  }),
  respond: (response) => ({ status: 202, body: { data: renderSendResult(response) } }),
};

/** A different text to each recipient. */
export const BATCH: SendKind = {
  endpoint: SendEndpoint.BATCH,
  takesSendAt: false,
  doc: {
    id: "sendBatch",
    tag: "Sending",
    summary: "Send a different text to each recipient",
    description:
      "Each item is checked on its own, its body included: one over 10 segments is rejected and " +
      "the rest go ahead. Bodies are sent exactly as given; no placeholders are filled in.",
    body: { name: "BatchSend", isRequired: true, example: BATCH_EXAMPLE },
    takesIdempotencyKey: true,
    response: sendResultDoc(BATCH_RESULT_EXAMPLE),
    errors: ERRORS,
  },
  validate: compileSchema(withoutMaxItems(BATCH_SEND, "messages")),
  listField: "messages",
  read: (body) => ({
    recipients: (body.messages as BatchItem[]).map((item) => ({
      to: storedForm(item.to),
      body: item.body,
      ...(typeof item.client_reference === "string"
        ? { clientReference: item.client_reference }
        : {}),
    })),
  }),
  respond: (response) => ({ status: 202, body: { data: renderSendResult(response) } }),
};

type BatchItem = { to: string; body: string; client_reference?: string | null };

/**
 * A recipient as it is stored. Protobuf and MongoDB replace a lone surrogate with U+FFFD. Replace it here too, or
 * the first response would differ from its replay.
 */
function storedForm(to: string): string {
  return to.toWellFormed();
}

/** Removes the default maximum length: `validate-send.ts` checks the account's own. */
function withoutMaxItems(schema: Schema, list: string): Schema {
  const { maxItems: _bound, ...items } = schema.properties[list] as Schema;
  return { ...schema, properties: { ...schema.properties, [list]: items } };
}
