/** The RPCs of the consent service: proto ↔ domain and nothing else. */
import type { Client } from "@connectrpc/connect";
import type { ConsentService } from "../../../proto/gen/sms/v1/consent_pb.js";
import { Encoding } from "../../../proto/gen/sms/v1/messaging_pb.js";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import type { ConsentClient } from "../app/inbound-recorder.ts";

/** Carriers wait some seconds for an answer before they send a message again. */
const CALL = { timeoutMs: 5000 } as const;

export function createConsentClient(client: Client<typeof ConsentService>): ConsentClient {
  return {
    async record(parts) {
      const wire = parts.map(({ encoding, receivedAtMs, ...part }) => ({
        ...part,
        encoding: encoding === "ucs2" ? Encoding.UCS2 : Encoding.GSM7,
        receivedAtMs: BigInt(receivedAtMs),
      }));
      const { tickets } = await rpcAnswer(client.recordInbound({ parts: wire }, CALL));
      return tickets;
    },
    async confirm(tickets) {
      await rpcAnswer(client.confirmInbound({ tickets: [...tickets] }, CALL));
    },
  };
}
