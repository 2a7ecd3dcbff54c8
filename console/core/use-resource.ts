import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiProblem } from "../api/http.ts";
import { signedOut } from "./console-path.ts";
import { pollPauseMs } from "./poll-pause.ts";

/** The state of a request as a page shows it: the last answer stays while the request is repeated. */
export type Resource<T> = {
  readonly data: T | undefined;
  readonly problem: ApiProblem | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
};

/**
 * Loads when `key` changes, and again every `everyMs`, less often after failures and while nothing changes
 * (`pollPauseMs`). A hidden page asks nothing.
 */
export function useResource<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs = 0,
): Resource<T> {
  const [state, setState] = useState<{
    readonly key: string;
    readonly data?: T;
    readonly problem?: ApiProblem;
  }>({ key: "" });
  const [turn, setTurn] = useState(0);
  const failures = useRef(0);
  const loadNow = useRef(load);
  loadNow.current = load;

  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let repeats = 0;
    let last = "";
    const next = () => {
      if (everyMs === 0 || abort.signal.aborted) return;
      const pause = pollPauseMs(everyMs, { failures: failures.current, repeats });
      timer = setTimeout(run, pause * (0.9 + Math.random() * 0.2));
    };
    const run = async () => {
      if (document.hidden && everyMs > 0) return next();
      try {
        const data = await loadNow.current(abort.signal);
        failures.current = 0;
        const shown = textOf(data);
        repeats = shown === last ? repeats + 1 : 0;
        last = shown;
        if (!abort.signal.aborted) setState({ key, data });
      } catch (error) {
        if (abort.signal.aborted) return;
        failures.current += 1;
        if (!(error instanceof ApiProblem)) throw error;
        if (error.status === 401) signedOut();
        setState((before) => ({ ...(before.key === key ? before : { key }), problem: error }));
      }
      next();
    };
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, everyMs, turn]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const isOwn = state.key === key;
  return {
    data: isOwn ? state.data : undefined,
    problem: isOwn ? state.problem : undefined,
    isLoading: !isOwn || (state.data === undefined && state.problem === undefined),
    reload,
  };
}

/** An answer as a text, for comparing. JSON has no big integers. */
function textOf(data: unknown): string {
  return JSON.stringify(data, (_, part) => (typeof part === "bigint" ? `${part}` : part)) ?? "";
}
