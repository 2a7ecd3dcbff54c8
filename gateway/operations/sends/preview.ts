/** The segments, encoding and price of a text. Nothing is stored, held or sent. */
import type { Client } from "@connectrpc/connect";
import {
  MessageSource,
  type MessagingService,
  SendEndpoint,
  type SendMessagesResponse,
} from "../../../proto/gen/sms/v1/messaging_pb.js";
import { AppError } from "../../../services/shared/core/errors.ts";
import { SEGMENTS_MAX } from "../../../services/shared/core/limits.ts";
import { describeText, hasLoneSurrogate } from "../../../services/shared/core/segments.ts";
import { rpcAnswer } from "../../../services/shared/rpc/call.ts";
import { PREVIEW_EXAMPLE } from "../../docs/content/samples.ts";
import { dataOf } from "../../docs/operation-doc.ts";
import { type Refusal, renderPricing, renderText } from "../../render/preview.ts";
import { parseBody } from "../../schemas/parse-body.ts";
import { queryFaults } from "../../schemas/query.ts";
import { MESSAGE_PREVIEW } from "../../schemas/sends.ts";
import { compileSchema, refuse } from "../../schemas/validate.ts";
import type { Operation, OperationRequest, OperationResponse } from "../operation.ts";
import { readTrafficClass } from "./traffic-class.ts";

export type PreviewPorts = { readonly messaging: Client<typeof MessagingService> };

const validate = compileSchema(MESSAGE_PREVIEW);

/** Codes for which a send would be refused; others are errors of the preview itself. */
const REFUSALS: ReadonlySet<string> = new Set([
  "validation_error",
  "sender_id_not_approved",
  "email_not_verified",
  "tenant_suspended",
]);

/** Shows the segments, encoding and price that a text would have (`docs/contract.md#preview`). */
export function previewOperation(ports: PreviewPorts): Operation {
  return {
    method: "POST",
    path: "/v1/sms/messages/preview",
    scope: "messages:send",
    doc: {
      id: "previewMessage",
      tag: "Sending",
      summary: "Preview a message",
      description:
        "The encoding and the segments of a text, the characters that are outside GSM 7-bit, and with `from` and " +
        "`to` the most that it can cost. `refusal` says why a send would be refused. Nothing is stored, held or sent.",
      body: {
        name: "MessagePreviewRequest",
        isRequired: true,
        example: { body: "Pay ₦500 today", from: "Acme", to: "+2348031234567" },
      },
      response: {
        status: 200,
        description: "The preview.",
        schema: dataOf("MessagePreview"),
        example: { data: PREVIEW_EXAMPLE },
      },
      errors: ["validation_error"],
    },
    handle: (request) => preview(ports, request),
  };
}

type Wanted = {
  readonly body: string;
  readonly from?: string;
  readonly to?: string;
  readonly traffic_class?: string | null;
};

async function preview(
  { messaging }: PreviewPorts,
  request: OperationRequest,
): Promise<OperationResponse> {
  const read = parseBody(request.bodyBytes, validate);
  const wanted = (read.body ?? { body: "" }) as Wanted;
  const faults = [...queryFaults(request.query), ...read.faults];
  if (faults.length === 0 && hasLoneSurrogate(wanted.body)) {
    const message = "The body holds half of a surrogate pair, which is no text.";
    faults.push({ field: "body", code: "invalid_value", message });
  }
  refuse(faults);
  const text = renderText(wanted.body);
  const pricing = await priceOf(messaging, request, wanted);
  return { status: 200, body: { data: { object: "message_preview", ...text, ...pricing } } };
}

/** Prices a text as a send would; an empty one, and one without sender or recipient, has no price. */
async function priceOf(
  messaging: PreviewPorts["messaging"],
  { caller }: OperationRequest,
  { body, from, to, traffic_class }: Wanted,
) {
  if (describeText(body).segments > SEGMENTS_MAX) {
    const message = `A body has at most ${SEGMENTS_MAX} segments.`;
    return renderPricing(undefined, { field: "body", code: "body_too_long", message });
  }
  if (body === "" || from === undefined || to === undefined) return renderPricing();
  try {
    const { tenantId, mode } = caller;
    const call = messaging.estimateSend({
      ...{ tenantId, mode, source: MessageSource.API, endpoint: SendEndpoint.BULK },
      ...{ from, body, trafficClass: readTrafficClass(traffic_class) },
      recipients: [{ to: to.toWellFormed() }],
    });
    const estimate: SendMessagesResponse = await rpcAnswer(call);
    return renderPricing(estimate);
  } catch (error) {
    if (!(error instanceof AppError) || !REFUSALS.has(error.code)) throw error;
    return renderPricing(undefined, refusalOf(error));
  }
}

function refusalOf({ code, message, fields: [first] }: AppError): Refusal {
  if (code !== "validation_error") return { field: first?.field ?? null, code, message };
  return { field: null, code, message, ...first };
}
