/** A stack whose carrier can be killed alone, with a tenant's messages and the simulator's controls at hand. */
import { type Client, createClient } from "@connectrpc/connect";
import { Mode } from "../../proto/gen/sms/v1/common_pb.js";
import {
  type Message,
  MessageSource,
  MessageStatus,
  MessagingService,
  SendEndpoint,
} from "../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";
import { eventually } from "./poll.ts";
import { openSimulatorControl, type SimulatorControl } from "./simulator-control.ts";
import { startTestStack, type TestStack } from "./stack.ts";

/** A running stack and what tests of the carrier do with it. */
export type CarrierStack = SimulatorControl & {
  readonly stack: TestStack;
  readonly routing: Client<typeof RoutingService>;
  readonly messaging: Client<typeof MessagingService>;
  /** Sends one message; answers its id. */
  send(to: string, options?: { readonly body?: string; readonly mode?: Mode }): Promise<string>;
  get(messageId: string): Promise<Message>;
  /** The statuses a message has had, with the code of the last one: `queued sent delivered`. */
  path(messageId: string): Promise<string>;
  /** Waits until every message has a status other than queued and sent; answers how many have which. */
  settled(messageIds: readonly string[], timeoutMs?: number): Promise<Record<string, number>>;
  stop(): Promise<void>;
};

const CORE = [
  ...["tenant", "sender-id", "wallet", "routing", "messaging", "webhook", "gateway"],
  ...["campaign", "consent"],
];

/**
 * Starts it: the services in one process, the carrier in another, the simulator in a third. `ofServices` reach only the
 * first two.
 */
export async function startCarrierStack(
  settings: Readonly<Record<string, string>> = {},
  ofServices: Readonly<Record<string, string>> = {},
): Promise<CarrierStack> {
  const stack = await startTestStack({
    settings: { LOG_LEVEL: "warn", ...settings },
    processes: [
      { name: "core", services: CORE, settings: ofServices },
      { name: "carrier", services: ["carrier"], settings: ofServices },
    ],
  });
  const transport = createGrpcJsTransport({
    target: stack.grpc.messaging ?? "",
    token: stack.grpc_token,
  });
  const routing = createClient(RoutingService, transport);
  const messaging = createClient(MessagingService, transport);
  const tenantId = stack.tenant_id;

  async function get(messageId: string): Promise<Message> {
    const { message } = await messaging.getMessage({ tenantId, messageId });
    if (message === undefined) throw new Error(`no message ${messageId}`);
    return message;
  }

  const simulator = await openSimulatorControl(stack);
  return {
    stack,
    ...simulator,
    routing,
    messaging,
    get,
    async send(to, { body = "hello", mode = Mode.LIVE } = {}) {
      const { message } = await messaging.sendMessages({
        tenantId,
        mode,
        source: MessageSource.API,
        endpoint: SendEndpoint.SINGLE,
        from: stack.sender_id,
        body,
        recipients: [{ to }],
      });
      if (message === undefined) throw new Error("the send answered no message");
      return message.id;
    },
    async path(messageId) {
      const { history } = await get(messageId);
      const words = history.map(({ status }) => nameOf(status));
      const code = history.at(-1)?.error?.code;
      return code === undefined || code === "" ? words.join(" ") : `${words.join(" ")} ${code}`;
    },
    async settled(messageIds, timeoutMs = 30_000) {
      let counted: Record<string, number> = {};
      const isOpen = (name: string) => name === "queued" || name === "sent";
      await eventually(
        async () => {
          const messages = await Promise.all(messageIds.map(get));
          counted = {};
          for (const { status } of messages) {
            counted[nameOf(status)] = (counted[nameOf(status)] ?? 0) + 1;
          }
          if (Object.keys(counted).some(isOpen)) throw new Error(JSON.stringify(counted));
          return true;
        },
        { timeoutMs, everyMs: 200, what: "the end of every message" },
      );
      return counted;
    },
    async stop() {
      transport.close();
      await stack.stop();
    },
  };
}

function nameOf(status: MessageStatus): string {
  return (MessageStatus[status] ?? "").toLowerCase();
}
