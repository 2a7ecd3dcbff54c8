import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { OwnSession } from "../api/session.ts";

export const SessionContext = createContext<OwnSession | undefined>(undefined);

/** The session of the signed-in operator. */
export function useSession(): OwnSession {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("no session");
  return session;
}

/** Whether the role may call a method, "TenantService/UpdateTenant": what it lacks is not shown. */
export function useMay(method: string): boolean {
  return useSession().methods.includes(`sms.v1.${method}`);
}
