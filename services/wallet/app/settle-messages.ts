/** Settles messages: the use case behind message events, the RPC and the sweeper. */
import { AppError } from "../../shared/core/errors.ts";
import type { SettleCommand } from "../domain/command.ts";
import { differsFrom } from "../domain/settlement.ts";
import type { CommandQueue } from "./command-queue.ts";
import type { WalletMetrics, WalletStore } from "./ports.ts";

/** The settlement that a caller requests for one message. */
export type SettlementRequest = Omit<SettleCommand, "kind"> & { readonly tenantId: string };

/** The result of one request. */
export type SettlementResult =
  | { readonly kind: "settled" }
  /** The message has a settlement, and nothing moved. `differs`: its amounts are others. */
  | { readonly kind: "already"; readonly differs: boolean }
  /** A retry may succeed. */
  | { readonly kind: "unavailable"; readonly error: unknown }
  /** No retry can succeed: the request contradicts the ledger. */
  | { readonly kind: "impossible"; readonly error: AppError };

/** Settles each message on its own; returns one result per request in order. 1,000 at most. */
export type SettleMessages = (
  requests: readonly SettlementRequest[],
) => Promise<SettlementResult[]>;

export function createSettleMessages(parts: {
  readonly store: Pick<WalletStore, "findSettled">;
  readonly queue: CommandQueue;
  readonly metrics?: Pick<WalletMetrics, "onSettled">;
}): SettleMessages {
  const { store, queue, metrics } = parts;

  async function settle(request: SettlementRequest): Promise<SettlementResult> {
    try {
      const { tenantId, ...command } = request;
      const { isNew, differs } = await queue.execute(tenantId, { kind: "settle", ...command });
      return isNew ? { kind: "settled" } : { kind: "already", differs };
    } catch (error) {
      if (error instanceof AppError && isContradiction(error)) return { kind: "impossible", error };
      return { kind: "unavailable", error };
    }
  }

  return async (requests) => {
    // Redelivered events and the sweeper repeat settlements. This read saves their transactions.
    const settled = await store.findSettled(requests.map(({ messageId }) => messageId));
    return Promise.all(
      requests.map(async (request): Promise<SettlementResult> => {
        const earlier = settled.get(request.messageId);
        const result: SettlementResult =
          earlier === undefined
            ? await settle(request)
            : { kind: "already", differs: differsFrom(earlier, request.tenantId, request) };
        metrics?.onSettled(result.kind);
        return result;
      }),
    );
  };
}

function isContradiction({ code }: AppError): boolean {
  return code === "not_found" || code === "invalid_state_transition" || code === "validation_error";
}
