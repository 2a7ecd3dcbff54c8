/**
 * The places of the rows that this process has fed last, by number. Events of messages name the number. A number's
 * place in a set of rows does not change once the campaign runs, so most events need no read to find it.
 */
import { setRecent } from "../../shared/flow/lru.ts";
import { rowId } from "./documents.ts";

/** More rows than a campaign has in the queue, with those that are sent. A place needs about 100 bytes. */
const PLACES_MAX = 20_000;

export type RecentPlaces = {
  /** Keeps the places of rows of a running campaign. */
  keep(
    rows: readonly { readonly rowSet: string; readonly to: string; readonly index: number }[],
  ): void;
  find(rowSet: string, to: string): number | undefined;
};

export function createRecentPlaces(): RecentPlaces {
  const places = new Map<string, number>();
  return {
    keep(rows) {
      for (const { rowSet, to, index } of rows) {
        setRecent(places, rowId(rowSet, to), index, PLACES_MAX);
      }
    },
    find: (rowSet, to) => places.get(rowId(rowSet, to)),
  };
}
