import { createClient } from "@connectrpc/connect";
import type { StackFile } from "../../deploy/dev/stack-file.ts";
import { type ConnectorState, RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { createGrpcJsTransport } from "../../services/shared/rpc/transport.ts";

/** Pauses or resumes the stack's connector: a paused one isolates the accept path. */
export async function setConnector(stack: StackFile, state: ConnectorState): Promise<void> {
  const target = stack.grpc.routing ?? "";
  const transport = createGrpcJsTransport({ target, token: stack.grpc_token });
  await createClient(RoutingService, transport).updateConnector({
    id: "smsc",
    connector: { id: "smsc", state },
    fields: ["state"],
  });
  transport.close();
}
