import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * Gives the columns of a long table the widths that they have at first. Otherwise the widths change while
 * rows come and go, because a browser fits them to the rows that are laid out.
 */
export function useFixedWidths(isLong: boolean): RefObject<HTMLTableElement | null> {
  const ref = useRef<HTMLTableElement>(null);
  useLayoutEffect(() => {
    if (!isLong) return;
    const fix = () => {
      const table = ref.current;
      const cells = [...(table?.tHead?.rows[0]?.cells ?? [])];
      table?.classList.remove("long");
      for (const cell of cells) cell.style.width = "";
      const widths = cells.map((cell) => cell.getBoundingClientRect().width);
      for (const [at, cell] of cells.entries()) cell.style.width = `${widths[at]}px`;
      table?.classList.add("long");
    };
    fix();
    addEventListener("resize", fix);
    return () => removeEventListener("resize", fix);
  }, [isLong]);
  return ref;
}
