import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Actor as ActorMessage } from "../../../proto/gen/sms/v1/common_pb.js";
import {
  type FundingSchema,
  FundingState as StateNumber,
  type WalletService,
} from "../../../proto/gen/sms/v1/wallet_pb.js";
import { invert } from "../../shared/core/invert.ts";
import { checkKnown, invalidField } from "../../shared/core/limits.ts";
import type { Fundings } from "../app/fundings.ts";
import type { Funding, FundingState } from "../domain/funding-request.ts";
import { actorOf } from "./proto.ts";

const NUMBERS: Readonly<Record<FundingState, StateNumber>> = {
  pending: StateNumber.PENDING,
  approved: StateNumber.APPROVED,
  funded: StateNumber.FUNDED,
  refused: StateNumber.REFUSED,
  failed: StateNumber.FAILED,
};

const STATES = invert<StateNumber, FundingState>(NUMBERS);

/** The handlers of fundings by persons: mapping between protobuf and the domain. */
export function fundingHandlers(fundings: Fundings) {
  return {
    async requestFunding({ tenantId, amount, reason, key, actor }) {
      const wanted = { tenantId, amount, reason };
      return { funding: toProto(await fundings.request(wanted, key, personOf(actor))) };
    },
    async decideFunding({ fundingId, approve, actor }) {
      return { funding: toProto(await fundings.decide(fundingId, approve, personOf(actor))) };
    },
    async listFundings({ tenantId, states, limit, cursor }) {
      const known = states.map((state) => checkKnown("states", STATES.get(state)));
      const page = await fundings.list({ tenantId, states: known, limit, cursor });
      return {
        fundings: page.items.map(toProto),
        nextCursor: page.nextCursor,
        approvalAbove: fundings.approvalAbove,
      };
    },
  } satisfies Partial<ServiceImpl<typeof WalletService>>;
}

/** The person who acts; throws when the call names none, because a service cannot be the first or second person. */
function personOf(named: ActorMessage | undefined) {
  const actor = actorOf(named);
  if (actor.source?.actor !== undefined) return actor;
  throw invalidField("actor", "required", "must name a person");
}

function toProto(funding: Funding): MessageInitShape<typeof FundingSchema> {
  return {
    ...funding,
    state: NUMBERS[funding.state],
    requestedAtMs: BigInt(funding.requestedAtMs),
    decidedAtMs: BigInt(funding.decidedAtMs),
  };
}
