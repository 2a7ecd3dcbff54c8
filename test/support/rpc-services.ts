import { CampaignService } from "../../proto/gen/sms/v1/campaign_pb.js";
import { ConsentService } from "../../proto/gen/sms/v1/consent_pb.js";
import { MessagingService } from "../../proto/gen/sms/v1/messaging_pb.js";
import { RoutingService } from "../../proto/gen/sms/v1/routing_pb.js";
import { SenderIdService } from "../../proto/gen/sms/v1/sender_id_pb.js";
import { TenantService } from "../../proto/gen/sms/v1/tenant_pb.js";
import { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { WebhookService } from "../../proto/gen/sms/v1/webhook_pb.js";

/** The RPC interfaces of all services. `caller-methods.test.ts` fails when one with an address is missing. */
export const RPC_SERVICES = [
  TenantService,
  SenderIdService,
  WalletService,
  RoutingService,
  MessagingService,
  WebhookService,
  CampaignService,
  ConsentService,
] as const;
