import type { Client } from "@connectrpc/connect";
import type { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { systemClock } from "../../services/shared/core/clock.ts";
import { AppError } from "../../services/shared/core/errors.ts";
import { formatAmount } from "../../services/shared/core/money.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { rpcAnswer } from "../../services/shared/rpc/call.ts";
import { BALANCE_EXAMPLE } from "../docs/content/samples.ts";
import { dataOf } from "../docs/operation-doc.ts";
import { refuseQuery } from "../schemas/query.ts";
import type { Operation } from "./operation.ts";

/** Reads the balance of the wallet (`docs/contract.md#balance`). */
export function balanceOperation(wallets: Client<typeof WalletService>): Operation {
  return {
    method: "GET",
    path: "/v1/balance",
    scope: "balance:read",
    doc: {
      id: "getBalance",
      tag: "Balance",
      summary: "Read the wallet balance",
      description: "The balance, the part that is held, and the part that new sends may use.",
      response: {
        status: 200,
        description: "The balance.",
        schema: dataOf("Balance"),
        example: { data: BALANCE_EXAMPLE },
      },
      errors: ["validation_error"],
    },
    async handle({ caller, query }) {
      refuseQuery(query);
      const call = wallets.getWallet({ tenantId: caller.tenantId });
      const { wallet } = await rpcAnswer(call).catch(noWallet);
      const { balance = 0n, held = 0n, available = 0n, lowBalanceThreshold = 0n } = wallet ?? {};
      return {
        status: 200,
        body: {
          data: {
            object: "balance",
            currency: wallet?.currency ?? caller.currency,
            balance: formatAmount(balance),
            held: formatAmount(held),
            available: formatAmount(available),
            low_balance_threshold: formatAmount(lowBalanceThreshold),
            as_of: formatInstant(Number(wallet?.asOfMs ?? systemClock.now())),
          },
        },
      };
    },
  };
}

/** A tenant without a wallet has a zero balance, not an error. */
function noWallet(error: unknown): { readonly wallet?: undefined } {
  if (error instanceof AppError && error.code === "not_found") return {};
  throw error;
}
