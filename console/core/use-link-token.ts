import { useEffect, useState } from "preact/hooks";

/** The token of the link that was opened; empty without one. It leaves the address and the history at once. */
export function useLinkToken(): string {
  const [token] = useState(() => location.hash.slice(1));
  useEffect(() => {
    if (token !== "") history.replaceState(null, "", location.pathname);
  }, []);
  return token;
}
