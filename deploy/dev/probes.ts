import { opsPort, portOf } from "./port-layout.ts";
import { placeOf, RECEIVER } from "./process-table.ts";
import type { StackState } from "./stack-file.ts";

/** The URL of a process's readiness probe. */
export function readyUrl(state: StackState, name: string): string {
  const port =
    name === RECEIVER
      ? portOf(state.portBase, "receiver-events")
      : opsPort(state.portBase, placeOf(state, name));
  return `http://127.0.0.1:${port}/readyz`;
}

/** True when a GET is answered with 200 within a second. */
export async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
