import { useCallback, useRef, useState } from "preact/hooks";
import { ApiProblem, newKey } from "../api/http.ts";
import { signedOut } from "./console-path.ts";

/**
 * One change at a time. The idempotency key stays the same until the change has succeeded or was refused, so a second
 * click after a lost answer does not send twice.
 */
export function useAction<A extends readonly unknown[], T>(
  act: (key: string, ...input: A) => Promise<T>,
  onDone?: (result: T) => void,
) {
  const [problem, setProblem] = useState<ApiProblem>();
  const [isBusy, setBusy] = useState(false);
  const key = useRef(newKey());

  const run = useCallback(
    async (...input: A): Promise<void> => {
      if (isBusy) return;
      setBusy(true);
      setProblem(undefined);
      try {
        const result = await act(key.current, ...input);
        key.current = newKey();
        onDone?.(result);
      } catch (error) {
        if (!(error instanceof ApiProblem)) throw error;
        if (error.status === 401) signedOut();
        // Without an answer the change may have been made: the same key finds it.
        if (error.status >= 400 && error.status < 500) key.current = newKey();
        setProblem(error);
      } finally {
        setBusy(false);
      }
    },
    [act, isBusy, onDone],
  );
  return { run, isBusy, problem, clear: () => setProblem(undefined) };
}
