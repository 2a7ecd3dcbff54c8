import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  type RequestSenderIdRequest,
  RequestSenderIdResponseSchema,
  SenderIdReview,
  SenderIdService as SenderIdRpc,
  SenderIdStatus as StatusProto,
} from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { isId } from "../../shared/core/ids.ts";
import { checkCursor, checkItems, checkKnown, pageLimit } from "../../shared/core/limits.ts";
import { type Idempotency, runOnce } from "../../shared/core/run-once.ts";
import type { AuditLog } from "../../shared/io/audit-log.ts";
import { auditHandler } from "../../shared/rpc/audit-handler.ts";
import { readRequestKey } from "../../shared/rpc/request-key.ts";
import { readTrafficClass } from "../../shared/rpc/traffic-class.ts";
import type { SenderIdService } from "../app/sender-ids.ts";
import type { Review, SenderIdStatus } from "../domain/sender-id.ts";
import { resolvedToProto, senderIdToProto } from "./proto.ts";

const STATUS_FROM_PROTO: Readonly<Partial<Record<StatusProto, SenderIdStatus>>> = {
  [StatusProto.PENDING]: "pending",
  [StatusProto.APPROVED]: "approved",
  [StatusProto.REJECTED]: "rejected",
  [StatusProto.SUSPENDED]: "suspended",
};

const REVIEW_FROM_PROTO: Readonly<Partial<Record<SenderIdReview, Review>>> = {
  [SenderIdReview.APPROVE]: "approve",
  [SenderIdReview.REJECT]: "reject",
  [SenderIdReview.SUSPEND]: "suspend",
  [SenderIdReview.REINSTATE]: "reinstate",
};

/** A page's cursor: the lower-case name of its last sender ID. */
const NAME_KEY = /^[a-z0-9 .-]{3,11}$/;

/** Most names of one lookup. */
const RESOLVED_MAX = 32;

/** Serves `sms.v1.SenderIdService`: mapping between protobuf and the domain. */
export function senderIdRoutes(
  service: SenderIdService,
  audit: AuditLog,
  idempotency: Idempotency,
) {
  return (router: ConnectRouter): void => {
    router.service(SenderIdRpc, {
      ...auditHandler(SenderIdRpc, audit),
      createSenderId: async (request) => ({
        senderId: senderIdToProto(
          await service.create(
            request.tenantId,
            request.name,
            request.approve,
            readTrafficClass(request.trafficClass),
          ),
        ),
      }),
      requestSenderId: (request) => requestSenderId(service, idempotency, request),
      listSenderIds: async (request) => {
        checkCursor(request.cursor === "" || NAME_KEY.test(request.cursor));
        const page = await service.list(request.tenantId, {
          statuses: request.statuses.map((status) =>
            checkKnown("statuses", STATUS_FROM_PROTO[status]),
          ),
          isUsable: request.usable,
          name: request.name,
          limit: pageLimit(request.limit),
          afterKey: request.cursor,
        });
        return { senderIds: page.senderIds.map(senderIdToProto), nextCursor: page.nextCursor };
      },
      listAllSenderIds: async ({ statuses, limit, cursor }) => {
        checkCursor(cursor === "" || isId("senderId", cursor));
        const wanted = statuses.map((status) => checkKnown("statuses", STATUS_FROM_PROTO[status]));
        const page = await service.listAll(wanted, pageLimit(limit), cursor);
        return { senderIds: page.senderIds.map(senderIdToProto), nextCursor: page.nextCursor };
      },
      resolveSenderId: async (request) => ({
        senderId: resolvedToProto(await service.resolve(request.tenantId, request.name)),
      }),
      resolveSenderIds: async ({ requests }) => {
        checkItems("requests", requests.length, 1, RESOLVED_MAX);
        const found = await service.resolveMany(requests);
        return {
          answers: found.map((one) =>
            one === undefined ? {} : { senderId: resolvedToProto(one) },
          ),
        };
      },
      reviewSenderId: async (request) => {
        const action = checkKnown("review", REVIEW_FROM_PROTO[request.review]);
        const trafficClass = readTrafficClass(request.trafficClass);
        const { tenantId, idOrName, reason } = request;
        return {
          senderId: senderIdToProto(
            await service.review(tenantId, idOrName, action, reason, trafficClass),
          ),
        };
      },
    });
  };
}

async function requestSenderId(
  service: SenderIdService,
  idempotency: Idempotency,
  request: RequestSenderIdRequest,
) {
  const { tenantId, name, useCase, sample } = request;
  const key = readRequestKey(request, "request");
  const answered = await runOnce(idempotency, key, async () => {
    let response: Uint8Array = new Uint8Array();
    await service.request(tenantId, { name, useCase, sample }, (made) => {
      const answer = create(RequestSenderIdResponseSchema, { senderId: senderIdToProto(made) });
      response = toBinary(RequestSenderIdResponseSchema, answer);
      return key && { ...key, response };
    });
    return { response, isStored: true };
  });
  const { response, replayed } = answered;
  return Object.assign(fromBinary(RequestSenderIdResponseSchema, response), { replayed });
}
