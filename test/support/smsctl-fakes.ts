/** In-memory services for smsctl's commands. */
import { createClient, createRouterTransport, type ServiceImpl } from "@connectrpc/connect";
import { CampaignService } from "../../proto/gen/sms/v1/campaign_pb.js";
import { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";
import type { Json } from "../../services/shared/cli/cell.ts";
import type { ParsedCommand } from "../../services/shared/cli/definition.ts";
import { EXIT_CODES } from "../../services/shared/cli/exit-codes.ts";
import { createOptions } from "../../services/shared/cli/options.ts";
import type { Output } from "../../services/shared/cli/output.ts";
import { runProgram } from "../../services/shared/cli/program.ts";
import { AppError } from "../../services/shared/core/errors.ts";
import { toAppError, toConnectError } from "../../services/shared/rpc/error-status.ts";
import type { Clients } from "../../services/smsctl/calls/clients.ts";
import type { CheckRun } from "../../services/smsctl/check/report.ts";
import { smsctlProgram } from "../../services/smsctl/cli/tree.ts";

/** The responses of the services. */
export type Fakes = {
  tenants?: Partial<ServiceImpl<typeof TenantService>>;
  senderIds?: Partial<ServiceImpl<typeof SenderIdService>>;
  wallets?: Partial<ServiceImpl<typeof WalletService>>;
  routing?: Partial<ServiceImpl<typeof RoutingService>>;
  messaging?: Partial<ServiceImpl<typeof MessagingService>>;
  webhooks?: Partial<ServiceImpl<typeof WebhookService>>;
  campaigns?: Partial<ServiceImpl<typeof CampaignService>>;
  consent?: Partial<ServiceImpl<typeof ConsentService>>;
};

/** The tenant that there is. */
export const TENANT = { id: "ten_1", name: "Ada", currency: "NGN" };
/** Answers it. */
export const getTenant = () => ({ tenant: TENANT });
/** Answers it, as the only one. */
export const listTenants = () => ({ tenants: [TENANT] });
const getWallet = () => ({ wallet: { currency: TENANT.currency } });

async function* checkCampaigns() {
  yield { done: true };
}

async function* checkInbound() {
  yield { done: true };
}

/** Clients of such services. */
export function clientsOf(fakes: Fakes): Clients {
  const {
    tenants = { getTenant, listTenants },
    wallets,
    routing,
    messaging,
    webhooks,
    campaigns,
    consent,
  } = fakes;
  const transport = createRouterTransport((router) => {
    router.service(TenantService, tenants);
    router.service(SenderIdService, fakes.senderIds ?? {});
    router.service(WalletService, { getWallet, ...wallets });
    router.service(RoutingService, routing ?? {});
    router.service(MessagingService, { listMessages: () => ({}), ...messaging });
    router.service(WebhookService, webhooks ?? {});
    router.service(CampaignService, { checkCampaigns, ...campaigns });
    router.service(ConsentService, { checkInbound, listSuppressions: () => ({}), ...consent });
  });
  return {
    tenants: createClient(TenantService, transport),
    senderIds: createClient(SenderIdService, transport),
    wallets: createClient(WalletService, transport),
    routing: createClient(RoutingService, transport),
    messaging: createClient(MessagingService, transport),
    webhooks: createClient(WebhookService, transport),
    campaigns: createClient(CampaignService, transport),
    consent: createClient(ConsentService, transport),
  } as unknown as Clients;
}

/** The arguments of a check of such services. */
export function checkOf(fakes: Fakes): CheckRun {
  const { signal } = new AbortController();
  return { clients: clientsOf(fakes), tenantId: "", note: () => undefined, signal };
}

/** Runs a command line with the real parser; returns its exit code and result, or throws its error. */
export async function run(words: readonly string[], fakes: Fakes, isJson = true) {
  const results: Json[] = [];
  const notes: string[] = [];
  const output: Output = {
    isForPeople: !isJson,
    result: async (value) => void results.push(value),
    list: async (rows, { tableRows = rows }) => void results.push([...(isJson ? rows : tableRows)]),
    note: (line) => notes.push(line),
    more: (line) => notes.push(line),
    failed(error) {
      notes.push(error.message);
      return EXIT_CODES[error.code];
    },
    clear: () => undefined,
  };
  const clients = clientsOf(fakes);
  const { signal } = new AbortController();
  let code: number | undefined;
  await runProgram(
    smsctlProgram(),
    words,
    async (command, parsed) => {
      const act = await command.load();
      code = await act({ clients, options: createOptions(parsed), output, signal });
    },
    { write: () => undefined },
  );
  return { code, result: results[0] as Record<string, Json>, results, notes };
}

/** Parses a command line with the real parser, without running it. */
export async function parse(...words: string[]): Promise<ParsedCommand> {
  let found: ParsedCommand | undefined;
  const keep = async (_command: unknown, parsed: ParsedCommand) => {
    found = parsed;
  };
  await runProgram(smsctlProgram(), words, keep, { write: () => undefined });
  if (found === undefined) throw new Error("no command was run");
  return found;
}

/** Returns the thrown error; throws when there is none. */
export async function errorOf(work: Promise<unknown>): Promise<AppError> {
  return work.then(
    () => {
      throw new Error("it was not refused");
    },
    (thrown: unknown) => toAppError(thrown),
  );
}

/** Fails a call. */
export const refuse = (...error: ConstructorParameters<typeof AppError>) => {
  throw toConnectError(new AppError(...error));
};
