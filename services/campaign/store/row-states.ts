/**
 * The states of rows: status, message and amounts, apart from the number and the variables, which do not change. One
 * document has the states of consecutive rows. A chunk and the events of its messages change consecutive rows, so a
 * transaction writes few documents (ADR 160).
 */
import { Long } from "mongodb";
import type { RowStatus } from "../../shared/core/campaign-status.ts";
import type { Row, RowError, RowState } from "../domain/row.ts";
import type { RowDocument } from "./documents.ts";

/** The rows of one document. Receipts come in any order: with more rows each receipt would write a larger document. */
const GROUP_ROWS = 25;

export type StateDocument = {
  status: RowStatus;
  message_id?: string;
  message_at?: Date;
  held?: Long;
  amount?: Long;
  taken_back?: string[];
  error?: RowError;
};

export type RowStatesDocument = {
  _id: string;
  /** The set of rows. */
  campaign_id: string;
  /** The place of its first row, divided by the rows of a document. */
  group: number;
  /** The statuses of its rows, for an index. */
  statuses: RowStatus[];
  /** The states in the order of the rows. */
  states: StateDocument[];
};

/** The document that has the state of the row at this place. */
export function groupOf(index: number): number {
  return Math.floor(index / GROUP_ROWS);
}

/** The document's id. */
export function statesId(rowSet: string, group: number): string {
  return `${rowSet}.${group}`;
}

/** A document with no rows yet. */
export function emptyStates(rowSet: string, group: number): RowStatesDocument {
  return { _id: statesId(rowSet, group), campaign_id: rowSet, group, statuses: [], states: [] };
}

/** The document after these of its rows have changed or were added. */
export function withRows(
  document: RowStatesDocument,
  rows: readonly RowState[],
): RowStatesDocument {
  const states = [...document.states];
  for (const row of rows) states[row.index % GROUP_ROWS] = fromRowState(row);
  return { ...document, states, statuses: [...new Set(states.map(({ status }) => status))] };
}

/** Places of the document's rows with one of these statuses, rising. */
export function placesOf(
  { group, states }: RowStatesDocument,
  statuses: readonly RowStatus[],
): number[] {
  return states.flatMap(({ status }, at) =>
    statuses.includes(status) ? [group * GROUP_ROWS + at] : [],
  );
}

/** A row with its state. */
export function toRow(row: RowDocument, state: RowState): Row {
  return {
    rowSet: row.campaign_id,
    to: row.to,
    variables: row.variables ?? {},
    clientReference: row.client_reference,
    ...state,
  };
}

/** The state of the row at this place; undefined when the document does not have it. */
export function stateAt(
  index: number,
  document: RowStatesDocument | undefined,
): RowState | undefined {
  const state = document?.states[index % GROUP_ROWS];
  if (state === undefined) return undefined;
  return {
    index,
    status: state.status,
    messageId: state.message_id,
    messageAtMs: state.message_at?.getTime() ?? 0,
    held: state.held?.toBigInt() ?? 0n,
    amount: state.amount?.toBigInt() ?? 0n,
    takenBack: state.taken_back ?? [],
    error: state.error,
  };
}

function fromRowState(row: RowState): StateDocument {
  const state: StateDocument = { status: row.status };
  if (row.messageId !== undefined) state.message_id = row.messageId;
  if (row.messageAtMs !== 0) state.message_at = new Date(row.messageAtMs);
  if (row.held !== 0n) state.held = Long.fromBigInt(row.held);
  if (row.amount !== 0n) state.amount = Long.fromBigInt(row.amount);
  if (row.takenBack.length > 0) state.taken_back = [...row.takenBack];
  if (row.error !== undefined) state.error = row.error;
  return state;
}
