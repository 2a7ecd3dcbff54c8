/** Invariant 9 over gRPC, for every RPC in the descriptors that the services are built from. */

import { type DescMessage, toJson } from "@bufbuild/protobuf";
import { ConnectError, createClient } from "@connectrpc/connect";
import { expect } from "chai";
import { toAppError } from "../../../services/shared/rpc/error-status.ts";
import {
  createGrpcJsTransport,
  type RpcTransport,
} from "../../../services/shared/rpc/transport.ts";
import { type Owned, RPC_CASES } from "../../support/isolation-rpc-cases.ts";
import {
  freeNames,
  ISOLATION_SETTINGS,
  makeOwned,
  maskNames,
  OWNERS,
} from "../../support/isolation-world.ts";
import { eventually } from "../../support/poll.ts";
import { type Customer, openRestStack, type RestStack } from "../../support/rest.ts";
import { allRpcMethods, type RpcMethod } from "../../support/rpc-methods.ts";
import { ONE_PROCESS, type TestStack } from "../../support/stack.ts";

const methods = new Map(
  (await allRpcMethods()).map((method) => [method.name.replace("sms.v1.", ""), method]),
);

/** Names of fields that hold the id or the name of something that a tenant owns. */
const NAMES = /(^|_)(key|message|endpoint|delivery|reservation|campaign|sender)_ids?$|^id_or_name$/;

/** Methods with such a field that serve no tenant, and where the value comes from. */
const NAMED_BY_SERVICES: Readonly<Record<string, string>> = {
  "ConsentService/RecordInbound": "carrier_message_id is an id of the carrier, not of ours",
  "MessagingService/SendMessages": "a campaign's id is a label of the tenant's own messages",
  "MessagingService/SendMany": "as SendMessages",
  "MessagingService/SendEach": "as SendMessages",
  "MessagingService/EstimateSend": "as SendMessages",
  "MessagingService/FindMessages": "operators find messages of all tenants",
  "MessagingService/ReportOutcomes": "a carrier repeats the ids of messages that it claimed",
  "MessagingService/RecordReceipts": "as ReportOutcomes",
  "MessagingService/RenewClaims": "as ReportOutcomes",
  "MessagingService/RecoverClaims": "as ReportOutcomes",
  "MessagingService/ResolveReservations": "the wallet repeats ids that messaging made",
  "WalletService/PlaceHold": "messaging makes the ids; see the test below",
  "WalletService/PlaceHolds": "as PlaceHold",
  "WalletService/SettleMessages": "as PlaceHold",
  "RoutingService/CreateRoute": "routes are the operator's; its sender IDs are names to match",
  "RoutingService/UpdateRoute": "as CreateRoute",
  "RoutingService/RemoveRoute": "as CreateRoute",
  "RoutingService/ImportPrices": "as CreateRoute",
  "TenantService/GetTenant": "the tenant itself",
};

/** The names of a message's fields and of those of its parts. */
function fieldsOf(message: DescMessage, seen = new Set<DescMessage>()): string[] {
  if (seen.has(message)) return [];
  seen.add(message);
  return message.fields.flatMap((field) => [
    field.name,
    ...(field.message === undefined ? [] : fieldsOf(field.message, seen)),
  ]);
}

describe("tenants over gRPC", function () {
  this.timeout(30_000);
  let rest: RestStack<TestStack>;
  let transport: RpcTransport;
  let owner: Customer;
  let stranger: Customer;
  let own: Owned;

  before(async function () {
    this.timeout(240_000);
    rest = await openRestStack(ISOLATION_SETTINGS, { processes: ONE_PROCESS });
    transport = createGrpcJsTransport({
      target: rest.stack.grpc.messaging ?? "",
      token: rest.stack.grpc_token,
    });
    [owner, stranger] = await Promise.all([rest.addCustomer(), rest.addCustomer()]);
    own = await makeOwned(rest, owner);
  });
  after(async function () {
    this.timeout(60_000);
    transport?.close();
    await rest?.close();
  });

  /** The result of a call as text: the messages, or the code and text of its error. */
  async function ask({ desc }: RpcMethod, request: Record<string, unknown>): Promise<string> {
    const client = createClient(desc.parent, transport) as Record<
      string,
      (request: unknown) => Promise<never> & AsyncIterable<never>
    >;
    try {
      const answer = client[desc.localName]?.(request);
      if (answer === undefined) throw new Error(`no client for ${desc.name}`);
      const messages: never[] = [];
      if (desc.methodKind === "unary") messages.push(await answer);
      else for await (const message of answer) messages.push(message);
      return JSON.stringify(messages.map((message) => toJson(desc.output, message)));
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      const { code, message, fields } = toAppError(error);
      return JSON.stringify({ code, message, fields });
    }
  }

  it("every method has a row, and every row a method", () => {
    expect(Object.keys(RPC_CASES).sort()).to.deep.equal([...methods.keys()].sort());
  });

  it("a method that names a resource of a tenant is tested for isolation, or listed with a reason", () => {
    const named = Object.entries(RPC_CASES).flatMap(([name, entry]) => {
      const input = methods.get(name)?.desc.input;
      const isNaming = input !== undefined && fieldsOf(input).some((field) => NAMES.test(field));
      return isNaming && entry.kind === "internal" ? [name] : [];
    });
    expect(named.sort()).to.deep.equal(Object.keys(NAMED_BY_SERVICES).sort());
  });

  for (const [name, entry] of Object.entries(RPC_CASES)) {
    if (entry.kind === "thing") {
      it(`${name}: a resource of another tenant answers as one that never existed`, async () => {
        const method = methods.get(name) as RpcMethod;
        const free = freeNames();
        const foreign = await ask(method, entry.request(stranger.tenantId, own));
        const unknown = await ask(method, entry.request(stranger.tenantId, free));
        expect(maskNames(foreign, own)).to.equal(maskNames(unknown, free));
        const unscoped = await ask(method, entry.request("", own));
        const nothing = await ask(method, entry.request("", free));
        expect(maskNames(unscoped, own), "without a tenant").to.equal(maskNames(nothing, free));
        const shown = await ask(method, entry.request(owner.tenantId, own));
        expect(maskNames(shown, own), "the owner's answer").to.not.equal(maskNames(foreign, own));
      });
    }
    if (entry.kind === "list") {
      it(`${name}: the response contains nothing of another tenant`, async () => {
        const method = methods.get(name) as RpcMethod;
        const answer = await ask(method, entry.request(stranger.tenantId, own));
        expect(answer).to.not.contain('"code"');
        const secrets = [owner.tenantId, OWNERS.body, OWNERS.to, ...Object.values(own)];
        for (const secret of secrets) expect(answer).to.not.contain(secret);
        const { shows } = entry;
        if (shows === undefined) return;
        await eventually(async () => {
          const shown = await ask(method, entry.request(owner.tenantId, own));
          return shown.includes(own[shows]);
        });
      });
    }
  }

  it("a page that starts after another tenant's id contains the caller's own messages only", async () => {
    const method = methods.get("MessagingService/ListMessages") as RpcMethod;
    const page = (beforeId: string) =>
      ask(method, { tenantId: stranger.tenantId, mode: 1, limit: 50, beforeId });
    expect(await page(own.message)).to.equal(await page(freeNames().message));
  });

  it("a hold under another tenant's reservation id is refused and moves no money", async () => {
    const balances = async () => {
      const all = [owner, stranger].map(({ tenantId }) => rest.wallets.getWallet({ tenantId }));
      return (await Promise.all(all)).map(({ wallet }) => [wallet?.balance, wallet?.held]);
    };
    // Before that, the owner's own message may be settled in between.
    await eventually(async () => (await balances()).every(([, held]) => held === 0n));
    const before = await balances();
    const method = methods.get("WalletService/PlaceHold") as RpcMethod;
    const { tenantId } = stranger;
    const amount = 40_000n;
    const hold = { tenantId, reservationId: own.reservation, amount, messageCount: 1 };
    const first = freeNames().message;
    const answer = await ask(method, { ...hold, firstMessageId: first, lastMessageId: first });
    expect(JSON.parse(answer).code).to.equal("idempotency_key_reused");
    expect(await balances()).to.deep.equal(before);
  });
});
