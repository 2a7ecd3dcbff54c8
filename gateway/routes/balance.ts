import type { Client } from "@connectrpc/connect";
import type { WalletService } from "../../proto/gen/sms/v1/wallet_pb.js";
import { AppError } from "../../services/shared/core/errors.ts";
import { formatAmount } from "../../services/shared/core/money.ts";
import { formatInstant } from "../../services/shared/core/rfc3339.ts";
import { componentRef, dataOf } from "../docs/operation.ts";
import { BALANCE_EXAMPLE } from "../docs/samples.ts";
import type { Endpoint } from "../endpoint.ts";
import { rpcAnswer } from "../rpc-answer.ts";
import { refuseQuery } from "../schemas/query.ts";

/** Reading the wallet's balance (`service.md` "Balance"). */
export function balanceEndpoint(wallets: Client<typeof WalletService>): Endpoint {
  return {
    method: "GET",
    path: "/v1/balance",
    scope: "balance:read",
    operation: {
      id: "getBalance",
      tag: "Balance",
      summary: "Read the wallet balance",
      description: "What the wallet has, what is held, and what new sends may use.",
      answer: {
        status: 200,
        description: "The balance.",
        schema: dataOf(componentRef("Balance")),
        example: { data: BALANCE_EXAMPLE },
      },
      errors: ["validation_error"],
    },
    async handle({ caller, query }) {
      refuseQuery(query);
      const { wallet } = await rpcAnswer(wallets.getWallet({ tenantId: caller.tenantId }));
      if (wallet === undefined) throw new AppError("not_found", "There is no wallet.");
      return {
        status: 200,
        body: {
          data: {
            object: "balance",
            currency: wallet.currency,
            balance: formatAmount(wallet.balance),
            held: formatAmount(wallet.held),
            available: formatAmount(wallet.available),
            low_balance_threshold: formatAmount(wallet.lowBalanceThreshold),
            as_of: formatInstant(Number(wallet.asOfMs)),
          },
        },
      };
    },
  };
}
