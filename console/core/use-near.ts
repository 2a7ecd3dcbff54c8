import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** How far from the screen something counts as near: about one screen. */
const MARGIN = "800px";

/** Whether an element is on the screen or near it. It counts as near until the browser reports its position. */
export function useNear<E extends Element>(
  isWatched = true,
): {
  readonly ref: RefObject<E | null>;
  readonly isNear: boolean;
  /** The height that it had when it was last near, in pixels. */
  readonly height: number;
} {
  const ref = useRef<E>(null);
  const height = useRef(0);
  const [isNear, setNear] = useState(true);
  useEffect(() => {
    const element = ref.current;
    if (!isWatched || element === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        if (!entry.isIntersecting) height.current = entry.boundingClientRect.height;
        setNear(entry.isIntersecting);
      },
      { rootMargin: `${MARGIN} 0px` },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [isWatched]);
  return { ref, isNear: isNear || !isWatched, height: height.current };
}
