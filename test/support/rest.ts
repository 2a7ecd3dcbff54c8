/**
 * The REST API for black-box tests: one stack shared by all files of a run, and customers on it with their own
 * settings.
 */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { createGrpcJsTransport, type RpcTransport } from "../../services/shared/rpc/transport.ts";
import { ONE_PROCESS, startTestStack, type TestStack } from "./stack.ts";

/** A response with its body parsed; `body` is untyped, because tests read single members. */
export type RestAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the test checks the type.
  readonly body: any;
};

/** Options of a call. */
export type RestCall = {
  readonly body?: unknown;
  /** A raw body instead of JSON. */
  readonly raw?: string | Uint8Array<ArrayBuffer>;
  /** The idempotency key. */
  readonly key?: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A customer with keys, a sender ID and money. */
export type Customer = {
  readonly tenantId: string;
  readonly apiKey: string;
  readonly testKey: string;
  readonly sender: string;
  call(method: string, path: string, options?: RestCall): Promise<RestAnswer>;
  /** Creates one more key. */
  addKey(options: { scopes?: string[]; mode?: Mode; networks?: string[] }): Promise<string>;
};

/** The stack, with clients of the internal services. */
export type RestStack<S extends StackFile = StackFile> = {
  readonly stack: S;
  readonly tenants: Client<typeof TenantService>;
  readonly senderIds: Client<typeof SenderIdService>;
  readonly wallets: Client<typeof WalletService>;
  readonly messaging: Client<typeof MessagingService>;
  readonly consent: Client<typeof ConsentService>;
  call(method: string, path: string, options?: RestCall): Promise<RestAnswer>;
  addCustomer(options?: CustomerOptions): Promise<Customer>;
  close(): Promise<void>;
};

/** Settings of a new customer. */
export type CustomerOptions = {
  readonly rateLimit?: number;
  readonly burst?: number;
  readonly bulkMax?: number;
  readonly emailVerified?: boolean;
  /** In 1/10,000 of the currency unit. */
  readonly funds?: bigint;
  /** Creates the tenant without a wallet. */
  readonly hasNoWallet?: boolean;
};

/** Starts a stack for REST tests; `settings` reach every process of it. */
export async function openRestStack(
  settings: Readonly<Record<string, string>> = {},
  options: Pick<Parameters<typeof startTestStack>[0] & object, "processes"> = {},
): Promise<RestStack<TestStack>> {
  const stack = await startTestStack({
    settings: { LOG_LEVEL: "warn", ...settings },
    ...options,
  });
  return useStack(stack, () => stack.stop());
}

function useStack<S extends StackFile>(stack: S, stop: () => Promise<void>): RestStack<S> {
  const channels: RpcTransport[] = [];
  const open = <S extends DescService>(service: S, name: string): Client<S> => {
    const target = stack.grpc[name] ?? "";
    const transport = createGrpcJsTransport({
      target,
      token: stack.grpc_token,
      waitForReady: true,
    });
    channels.push(transport);
    return createClient(service, transport);
  };
  const rest: RestStack<S> = {
    stack,
    tenants: open(TenantService, "tenant"),
    senderIds: open(SenderIdService, "sender-id"),
    wallets: open(WalletService, "wallet"),
    messaging: open(MessagingService, "messaging"),
    consent: open(ConsentService, "consent"),
    call: (method, path, options) => callRest(stack.gateway, method, path, options),
    addCustomer: (options = {}) => addCustomer(rest, options),
    async close() {
      for (const channel of channels) channel.close();
      await stop();
    },
  };
  return rest;
}

let shared: Promise<RestStack> | undefined;

/**
 * The stack with default settings that all test files of a run share. TEST_STACK, the path of a `stack.json`, uses a
 * running one instead.
 */
export function sharedRestStack(): Promise<RestStack> {
  const file = process.env.TEST_STACK;
  shared ??=
    file === undefined
      ? openRestStack()
      : Promise.resolve(
          useStack(JSON.parse(readFileSync(file, "utf8")) as StackFile, async () => undefined),
        );
  return shared;
}

const oneProcessStacks = new Map<string, Promise<RestStack<TestStack>>>();

/**
 * A stack with all services in one process, which the files of a mocha process with equal settings share. The runner
 * gives files that name the same settings one process (`run-tests.ts`). No file may stop it or kill parts of it.
 */
export function oneProcessStack(
  settings: Readonly<Record<string, string>> = {},
): Promise<RestStack<TestStack>> {
  const key = JSON.stringify(settings);
  const stack = oneProcessStacks.get(key) ?? openRestStack(settings, { processes: ONE_PROCESS });
  oneProcessStacks.set(key, stack);
  return stack;
}

// A root hook: it runs once, after all files.
after(async function () {
  this.timeout(60_000);
  const stacks = [...oneProcessStacks.values(), ...(shared === undefined ? [] : [shared])];
  await Promise.all(stacks.map(async (stack) => (await stack).close()));
});

/** Calls the API once; adds only the content type of a body. */
export async function callRest(
  gateway: string,
  method: string,
  path: string,
  options: RestCall = {},
): Promise<RestAnswer> {
  const payload =
    options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const response = await fetch(`${gateway}${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
      ...(payload === undefined ? {} : { "content-type": "application/json" }),
      ...(options.key === undefined ? {} : { "idempotency-key": options.key }),
      ...options.headers,
    },
    ...(payload === undefined ? {} : { body: payload }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== "" ? JSON.parse(text) : undefined,
  };
}

async function addCustomer(rest: RestStack, options: CustomerOptions): Promise<Customer> {
  const { rateLimit = 5000, burst = 10_000, hasNoWallet = false, ...rested } = options;
  const { funds = hasNoWallet ? 0n : 100_000_000n, ...others } = rested;
  const name = `Customer ${randomBytes(6).toString("hex")}`;
  const { tenant } = await rest.tenants.createTenant({ name, rateLimit, burst, ...others });
  const tenantId = tenant?.id ?? "";
  const addKey: Customer["addKey"] = async ({ scopes = [], mode = Mode.LIVE, networks = [] }) => {
    const made = await rest.tenants.createApiKey({
      tenantId,
      mode,
      scopes,
      allowedNetworks: networks,
    });
    return made.secret;
  };
  const [apiKey, testKey] = await Promise.all([
    addKey({}),
    addKey({ mode: Mode.TEST }),
    rest.senderIds.createSenderId({ tenantId, name: "Acme", approve: true }),
    hasNoWallet ? undefined : rest.wallets.createWallet({ tenantId, currency: "NGN" }),
  ]);
  if (funds > 0n) {
    const actor = { name: "test" };
    await rest.wallets.fundWallet({ tenantId, amount: funds, reference: "first", actor });
  }
  return {
    tenantId,
    apiKey,
    testKey,
    sender: "Acme",
    addKey,
    call: (method, path, call) => callRest(rest.stack.gateway, method, path, { apiKey, ...call }),
  };
}
