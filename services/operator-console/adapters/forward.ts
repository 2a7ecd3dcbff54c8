/** Forwards calls of the pages to the services: protobuf JSON in and out, each permitted by the role table. */
import {
  create,
  type DescMethod,
  type DescService,
  fromJson,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { CampaignService } from "../../../proto/gen/sms/v1/campaign_pb.js";
import { ActorSchema } from "../../../proto/gen/sms/v1/common_pb.js";
import { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../../proto/gen/sms/v1/webhook_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { invalidField } from "../../shared/core/limits.ts";
import type { ServiceContext } from "../../shared/io/service-context.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import { mayCall, type Rule, ruleOf } from "../domain/role-table.ts";
import { readJson } from "./read-json.ts";
import type { Route } from "./routes.ts";

const SERVICES: readonly DescService[] = [
  ...[TenantService, SenderIdService, WalletService, RoutingService, MessagingService],
  ...[WebhookService, CampaignService, ConsentService],
];

/** Timeout of a call, longer than the longest read of a page (a search for messages). */
const TIMEOUT_MS = 15_000;

type Call = (request: Message, options: { timeoutMs: number }) => Promise<Message>;

type Forwarded = { readonly desc: DescMethod; readonly rule: Rule; readonly call: Call };

/** Creates the route of each method. Throws when the role table has no row of a method. */
export function createForwarder(client: ServiceContext["client"]): (method: string) => Route {
  const methods = new Map<string, Forwarded>();
  for (const service of SERVICES) {
    const rpc = client(service) as unknown as Readonly<Record<string, Call>>;
    for (const desc of service.methods) {
      const name = `${service.typeName}/${desc.name}`;
      const rule = ruleOf(name);
      if (rule === undefined) throw new Error(`the role table has no row of ${name}`);
      const call: Call = (request, options) => (rpc[desc.localName] as Call)(request, options);
      methods.set(name, { desc, rule, call });
    }
  }

  return (name) => async (operator, context) => {
    const method = methods.get(name);
    if (method === undefined) throw new AppError("not_found", "There is no such method.");
    const { desc, rule, call } = method;
    if ("refused" in rule) {
      throw new AppError("insufficient_scope", `The console has not this method: ${rule.refused}.`);
    }
    if (!mayCall(operator.role, name)) {
      const text = `The role ${operator.role} may not do this; ${rule.roles.join(" or ")} may.`;
      throw new AppError("insufficient_scope", text);
    }
    const request = parse(desc, await readJson(context));
    checkFields(rule, request);
    nameActor(desc, request, { name: operator.person, address: operator.address });
    const answer = await rpcAnswer(call(request, { timeoutMs: TIMEOUT_MS }));
    return toJson(desc.output, answer, { alwaysEmitImplicit: true }) as object;
  };
}

function parse({ input }: DescMethod, body: object): Message {
  try {
    return fromJson(input, body as JsonValue);
  } catch (cause) {
    throw new AppError("validation_error", "The request is not valid.", { cause });
  }
}

/** Refuses fields that the console does not change, such as the password of a connector. */
function checkFields(rule: Rule, request: Message): void {
  if (!("onlyFields" in rule) || rule.onlyFields === undefined) return;
  const { fields = [] } = request as Message & { fields?: readonly string[] };
  const other = fields.find((field) => rule.onlyFields?.includes(field) !== true);
  if (other === undefined && fields.length > 0) return;
  throw invalidField("fields", "invalid_value", `may be ${rule.onlyFields.join(", ")}`);
}

/** Sets the request's actor to the person of the session, so that a page cannot name another. */
function nameActor(
  { input }: DescMethod,
  request: Message,
  actor: { readonly name: string; readonly address: string },
): void {
  const field = input.fields.find(({ message }) => message?.typeName === ActorSchema.typeName);
  if (field === undefined) return;
  (request as Message & Record<string, unknown>)[field.localName] = create(ActorSchema, actor);
}
