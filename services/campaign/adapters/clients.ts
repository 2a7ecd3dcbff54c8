/** Clients of the wallet and of the tenant service. */
import type { Client } from "@connectrpc/connect";
import type { TenantService } from "../../../proto/gen/sms/v1/tenant_pb.js";
import type { WalletService } from "../../../proto/gen/sms/v1/wallet_pb.js";
import { AppError } from "../../shared/core/errors.ts";
import { rpcAnswer } from "../../shared/rpc/call.ts";
import type { Tenants, Wallets } from "../app/ports.ts";

const CALL = { timeoutMs: 5000 } as const;

export function createWallets(client: Client<typeof WalletService>): Wallets {
  return {
    async available(tenantId) {
      try {
        const { wallet } = await rpcAnswer(client.getWallet({ tenantId }, CALL));
        return wallet?.available ?? 0n;
      } catch (error) {
        // A tenant without a wallet has no funds.
        if (error instanceof AppError && error.code === "not_found") return 0n;
        throw error;
      }
    },
  };
}

export function createTenants(client: Client<typeof TenantService>): Tenants {
  return {
    async currencyOf(tenantId) {
      const { tenant } = await rpcAnswer(client.getTenant({ idOrName: tenantId }, CALL));
      // The RPC also finds tenants by name, and only ids are valid here.
      if (tenant?.id !== tenantId) throw new AppError("not_found", "There is no such tenant.");
      return tenant.currency;
    },
  };
}
