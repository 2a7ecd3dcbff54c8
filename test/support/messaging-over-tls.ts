/** Messaging behind mutual TLS: the server that services have, which passes calls on to a stack's messaging. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@connectrpc/connect";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { createRpcAuth } from "../../services/shared/rpc/auth.ts";
import { createTestAuthority } from "./rpc-certificates.ts";
import { createRpcLinks, routesOf } from "./rpc-links.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Starts it. The certificate's name is the caller: it needs no token. */
export async function serveMessagingOverTls(messaging: Client<typeof MessagingService>) {
  const links = createRpcLinks();
  const folder = temporaryFolder("grpc-tls");
  const authority = createTestAuthority();
  const put = (name: string, contents: Buffer) => {
    const file = join(folder, name);
    writeFileSync(file, contents);
    return file;
  };
  const caFile = put("ca.crt", authority.ca);
  const [server, client] = [authority.server(), authority.client("billing")];
  const routes = routesOf((router) =>
    router.service(MessagingService, {
      sendMessages: (request) => messaging.sendMessages(request),
      getMessage: (request) => messaging.getMessage(request),
    }),
  );
  const served = await links.serve({
    routes,
    auth: createRpcAuth([
      {
        name: "billing",
        tokens: [],
        certificateNames: ["billing"],
        methods: ["sms.v1.MessagingService/*"],
      },
    ]),
    tls: {
      certFile: put("server.crt", server.cert),
      keyFile: put("server.key", server.key),
      caFile,
    },
  });
  return {
    address: served.target,
    settings: {
      SMS_GRPC_CA: caFile,
      SMS_GRPC_CERT: put("client.crt", client.cert),
      SMS_GRPC_KEY: put("client.key", client.key),
      SMS_GRPC_SERVER_NAME: "localhost",
    },
    async close() {
      await links.close();
    },
  };
}
