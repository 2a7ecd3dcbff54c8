import { AppError } from "../../shared/core/errors.ts";
import type { Command, Outcome } from "./command.ts";
import { decideFunding, decideUpdate } from "./funding.ts";
import { decideHold } from "./hold.ts";
import {
  type Book,
  beginBatch,
  type Changes,
  type DecideContext,
  finishBatch,
  type View,
} from "./ledger-batch.ts";
import { decideRelease, decideSettle } from "./settlement.ts";

/** The answers of a batch, one per command in order, and what has to be saved. */
export type Decision = {
  readonly outcomes: readonly (Outcome | AppError)[];
  readonly changes: Changes | undefined;
  /**
   * Some hold or settlement was refused: certain only when its id was among those looked up, for
   * a repeat is answered like the first time.
   */
  readonly hasRefusal: boolean;
};

/**
 * Decides a batch of commands on one wallet, in order, each on the state the one before it left.
 * A command that is refused changes nothing and does not touch its neighbours: a smaller hold
 * behind one that does not fit may still fit.
 */
export function decide(view: View, commands: readonly Command[], context: DecideContext): Decision {
  const book = beginBatch(view, context);
  let hasRefusal = false;
  const outcomes = commands.map((command) => {
    const outcome = decideOne(book, command);
    const canRepeat = command.kind === "hold" || command.kind === "settle";
    if (canRepeat && outcome instanceof AppError) hasRefusal = true;
    return outcome;
  });
  return { outcomes, changes: finishBatch(book), hasRefusal };
}

function decideOne(book: Book, command: Command): Outcome | AppError {
  switch (command.kind) {
    case "hold":
      return decideHold(book, command);
    case "settle":
      return decideSettle(book, command);
    case "release":
      return decideRelease(book, command);
    case "fund":
    case "adjust":
      return decideFunding(book, command);
    case "update":
      return decideUpdate(book, command);
  }
}
