/** Two customers of one stack; the first, the owner, has one of every resource. */
import { expect } from "chai";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import { Role } from "../../proto/gen/sms/v1/identity_pb.js";
import { MessageSource, SendEndpoint } from "../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import type { Owned } from "./isolation-rpc-cases.ts";
import { eventually } from "./poll.ts";
import type { Customer, RestStack } from "./rest.ts";

/** Numbers, texts and references that only the owner uses. */
export const OWNERS = {
  to: "+2348031112223",
  secondTo: "+2348031112225",
  suppressed: "+2348031112226",
  body: "What only the owner may read",
  reference: "owners-reference",
  key: "owners-key",
  rpcKey: "owners-rpc-key",
  sender: "Owner Only",
} as const;

const PATH = "/v1/sms/messages";
const HOOKS = "/v1/webhook-endpoints";

/** Settings of the stack: failed work is retried after the test, not during it. */
export const ISOLATION_SETTINGS = { WEBHOOK_RETRY_DELAYS_MS: "3600000,3600000" } as const;

/** Creates the owner's resources; on return all exist and none changes by itself. */
export async function makeOwned(rest: RestStack, owner: Customer): Promise<Owned> {
  const { tenantId } = owner;
  const made = await rest.senderIds.createSenderId({
    tenantId,
    name: OWNERS.sender,
    approve: true,
  });
  const sendAt = new Date(Date.now() + 86_400_000).toISOString();
  const send = { to: OWNERS.to, from: OWNERS.sender, body: OWNERS.body };
  const post = async (path: string, body: unknown, key?: string) => {
    const answer = await owner.call("POST", path, { body, ...(key === undefined ? {} : { key }) });
    expect(answer.status, answer.text).to.be.within(200, 202);
    return answer.body.data;
  };
  const endpoint = await post(HOOKS, { url: rest.stack.receiver.url });
  const hook = { url: rest.stack.receiver.url, description: "doomed" };
  const doomed = await post(HOOKS, hook, OWNERS.rpcKey);
  const sent = await post(PATH, { ...send, client_reference: OWNERS.reference }, OWNERS.key);
  const later = await post(PATH, { ...send, send_at: sendAt });
  const bulk = await post(`${PATH}/bulk`, { ...send, to: [OWNERS.to], send_at: sendAt });
  const campaign = newId("campaign");
  const content = { name: "Owners", from: OWNERS.sender, body: OWNERS.body };
  const draft = await post("/v1/campaigns", content, OWNERS.rpcKey);
  const doomedDraft = await post("/v1/campaigns", content);
  const recipients = [{ to: OWNERS.to }, { to: OWNERS.secondTo }];
  await post(`/v1/campaigns/${draft.id}/recipients`, { recipients });
  await rest.messaging.sendMessages({
    ...{ tenantId, mode: Mode.LIVE, endpoint: SendEndpoint.SINGLE, campaignId: campaign },
    source: MessageSource.CAMPAIGN,
    ...{ idempotencyKey: OWNERS.rpcKey, fingerprint: new Uint8Array(32).fill(9) },
    ...{ from: OWNERS.sender, body: OWNERS.body, sendAtMs: BigInt(Date.parse(sendAt)) },
    recipients: [{ to: OWNERS.to }],
  });
  const { inbound, inboundNumber } = await makeInbound(rest, owner);
  const [unused, maker] = await Promise.all(
    [1, 2].map(() => rest.tenants.createApiKey({ tenantId })),
  );
  const email = "colleague@example.org";
  const { person } = await rest.tenants.invitePerson({ tenantId, email, role: Role.VIEWER });
  const test = await post(`${HOOKS}/${endpoint.id}/test`, {});
  await waitForRest(owner, sent, [endpoint.id, doomed.id]);
  return {
    message: sent.id,
    scheduled: later.id,
    reservation: bulk.reservation_id,
    campaign,
    draft: draft.id,
    doomedDraft: doomedDraft.id,
    inbound,
    inboundNumber,
    senderId: made.senderId?.id ?? "",
    senderName: OWNERS.sender,
    endpoint: endpoint.id,
    doomed: doomed.id,
    delivery: test.id,
    apiKey: unused?.key?.id ?? "",
    makerKey: maker?.key?.id ?? "",
    person: person?.id ?? "",
    key: OWNERS.rpcKey,
  };
}

/** Two messages from handsets, and a suppression. */
async function makeInbound(rest: RestStack, { tenantId, call }: Customer) {
  const { inboundNumber } = await rest.consent.createInboundNumber({ number: "30999", tenantId });
  const suppressions = [{ number: OWNERS.suppressed }, { number: OWNERS.secondTo }];
  await rest.consent.addSuppressions({ tenantId, suppressions, source: "api" });
  const parts = ["first", "second"].map((body) => ({
    ...{ connectorId: "smsc", from: OWNERS.to, to: "30999", body, total: 1, sequence: 1 },
    receivedAtMs: BigInt(Date.now()),
  }));
  await rest.consent.recordInbound({ parts });
  const inbound = (await call("GET", "/v1/inbound-messages")).body.data[0].id as string;
  return { inbound, inboundNumber: inboundNumber?.id ?? "" };
}

/** Waits until nothing of the owner's changes by itself: all sent, settled and notified. */
async function waitForRest(
  owner: Customer,
  sent: { readonly id: string; readonly held_amount: string },
  endpoints: readonly string[],
): Promise<void> {
  const read = async (path: string) => (await owner.call("GET", path)).body.data;
  // Three sends are scheduled for tomorrow, each with a hold like that of the one sent.
  const held = (3 * Number(sent.held_amount)).toFixed(4);
  await eventually(
    async () => {
      if ((await read(`/v1/messages/${sent.id}`)).status !== "delivered") return false;
      if ((await read("/v1/balance")).held !== held) return false;
      const lists = await Promise.all(endpoints.map((id) => read(`${HOOKS}/${id}/deliveries`)));
      // Each gets `sent` and `delivered`, and the first a test event; none is retried soon.
      const isTried = ({ attempts }: { attempts: readonly unknown[] }) => attempts.length > 0;
      return lists.flat().length === 5 && lists.flat().every(isTried);
    },
    { timeoutMs: 40_000, everyMs: 100, what: "the owner's things to come to rest" },
  );
}

/** Unused values of the same kinds. */
export function freeNames(): Owned {
  return {
    message: newId("message"),
    scheduled: newId("message"),
    reservation: newId("reservation"),
    campaign: newId("campaign"),
    draft: newId("campaign"),
    doomedDraft: newId("campaign"),
    inbound: newId("inboundMessage"),
    inboundNumber: newId("inboundNumber"),
    senderId: newId("senderId"),
    senderName: "Nobodys",
    endpoint: newId("webhookEndpoint"),
    doomed: newId("webhookEndpoint"),
    delivery: newId("webhookDelivery"),
    apiKey: newId("apiKey"),
    makerKey: newId("apiKey"),
    person: newId("person"),
    key: "free-rpc-key",
  };
}

/** Replaces ids in a text by placeholders, so that responses can be compared. */
export function maskNames(text: string, names: Owned): string {
  return Object.entries(names).reduce(
    (masked, [what, name]) => masked.replaceAll(name, what),
    text,
  );
}
