/**
 * State machines as frozen tables of legal next states, and one function that walks them.
 */

/** For each state, the states it may move to. */
export type StateTable<State extends string> = Readonly<Record<State, readonly State[]>>;

/** Tells whether the table has that move. */
export function isLegalMove<State extends string>(
  table: StateTable<State>,
  from: State,
  to: State,
): boolean {
  return table[from].includes(to);
}
