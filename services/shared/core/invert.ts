/** The inverse of a table: from the values of the protocol, each of which occurs once, to our names. */
export function invert<Wire, Ours extends string>(
  table: Readonly<Record<Ours, Wire>>,
): ReadonlyMap<Wire, Ours> {
  return new Map((Object.keys(table) as Ours[]).map((ours) => [table[ours], ours]));
}
