import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { OwnSession } from "../api/types.ts";

export const SessionContext = createContext<OwnSession | undefined>(undefined);

/** The session of the signed-in person. */
export function useSession(): OwnSession {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("no session");
  return session;
}

/** Whether the person's role has a scope: what it lacks is not shown. */
export function useCan(scope: string): boolean {
  return useSession().scopes.includes(scope);
}
