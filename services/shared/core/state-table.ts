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

/** Tells whether nothing leaves the state. */
export function isTerminal<State extends string>(table: StateTable<State>, state: State): boolean {
  return table[state].length === 0;
}
