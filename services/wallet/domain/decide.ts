import { AppError } from "../../shared/core/errors.ts";
import type { Command, CommandResult } from "./command.ts";
import { decideFunding, decideUpdate } from "./funding.ts";
import { decideHold } from "./hold.ts";
import {
  beginBatch,
  type Changes,
  type DecideContext,
  finishBatch,
  type LedgerBatch,
  type View,
} from "./ledger-batch.ts";
import { decideRelease, decideSettle } from "./settlement.ts";

/** The results of a batch, one per command in order, and the changes to save. */
export type Decision = {
  readonly results: readonly (CommandResult | AppError)[];
  readonly changes: Changes | undefined;
  /**
   * A hold or settlement was refused. The refusal is final only if its id was looked up: a repeated
   * command gets its first result.
   */
  readonly hasRefusal: boolean;
};

/**
 * Decides a batch of commands on one wallet in order, each on the state after the one before it. A
 * refused command changes nothing, and later commands are decided all the same: a smaller hold may
 * still fit.
 */
export function decide(view: View, commands: readonly Command[], context: DecideContext): Decision {
  const ledger = beginBatch(view, context);
  let hasRefusal = false;
  const results = commands.map((command) => {
    const result = decideOne(ledger, command);
    const canRepeat = command.kind === "hold" || command.kind === "settle";
    if (canRepeat && result instanceof AppError) hasRefusal = true;
    return result;
  });
  return { results, changes: finishBatch(ledger), hasRefusal };
}

function decideOne(ledger: LedgerBatch, command: Command): CommandResult | AppError {
  switch (command.kind) {
    case "hold":
      return decideHold(ledger, command);
    case "settle":
      return decideSettle(ledger, command);
    case "release":
      return decideRelease(ledger, command);
    case "fund":
    case "adjust":
      return decideFunding(ledger, command);
    case "update":
      return decideUpdate(ledger, command);
  }
}
