/** Settling what messages became, whoever reports it: an event, an RPC, or the sweeper. */
import { AppError } from "../../shared/core/errors.ts";
import type { SettleCommand } from "../domain/command.ts";
import { differsFrom } from "../domain/settlement.ts";
import type { CommandQueue } from "./command-queue.ts";
import type { WalletStore } from "./ports.ts";

/** One message's settlement as asked for. */
export type SettleRequest = Omit<SettleCommand, "kind"> & { readonly tenantId: string };

/** What became of one request. */
export type SettleResult =
  | { readonly kind: "settled" }
  /** It had been settled before; nothing moved. `differs` when the amounts were others then. */
  | { readonly kind: "already"; readonly differs: boolean }
  /** It can be tried again. */
  | { readonly kind: "unavailable"; readonly error: unknown }
  /** It can never be settled: the records contradict each other. */
  | { readonly kind: "impossible"; readonly error: AppError };

/** Settles messages, each on its own; answers one result per request in order. */
export type SettleMessages = (requests: readonly SettleRequest[]) => Promise<SettleResult[]>;

/** Wires it. At most 1,000 requests at once. */
export function createSettleMessages(parts: {
  readonly store: Pick<WalletStore, "findSettled">;
  readonly queue: CommandQueue;
  readonly onResult?: (result: SettleResult["kind"]) => void;
}): SettleMessages {
  const { store, queue, onResult } = parts;

  async function settle(request: SettleRequest): Promise<SettleResult> {
    try {
      const { tenantId, ...command } = request;
      const { isNew, differs } = await queue.run(tenantId, { kind: "settle", ...command });
      return isNew ? { kind: "settled" } : { kind: "already", differs };
    } catch (error) {
      if (error instanceof AppError && isContradiction(error)) return { kind: "impossible", error };
      return { kind: "unavailable", error };
    }
  }

  return async (requests) => {
    // What is told twice (by an event that comes again, or by the sweeper too) finds it settled, and
    // this read spares it a transaction.
    const settled = await store.findSettled(requests.map(({ messageId }) => messageId));
    return Promise.all(
      requests.map(async (request): Promise<SettleResult> => {
        const earlier = settled.get(request.messageId);
        const result: SettleResult =
          earlier === undefined
            ? await settle(request)
            : { kind: "already", differs: differsFrom(earlier, request.tenantId, request) };
        onResult?.(result.kind);
        return result;
      }),
    );
  };
}

function isContradiction({ code }: AppError): boolean {
  return code === "not_found" || code === "invalid_state_transition" || code === "validation_error";
}
