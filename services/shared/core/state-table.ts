/** State machines as frozen tables of legal next states, and one function that checks a transition. */

/** For each state, the legal next states. */
export type StateTable<State extends string> = Readonly<Record<State, readonly State[]>>;

/** True when the table allows the transition. */
export function isLegalMove<State extends string>(
  table: StateTable<State>,
  from: State,
  to: State,
): boolean {
  return table[from].includes(to);
}
