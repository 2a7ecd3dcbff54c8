import { call, data } from "../../api/http.ts";
import type { ListedSession, One } from "../../api/types.ts";

const OWN = "/operators/api";

/** The signed-in operator; `methods` are the calls that the role may make. */
export type OwnSession = {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly methods: readonly string[];
};

export const session = {
  methods: () => data(call<One<{ readonly oidc: string | null }>>("GET", `${OWN}/sign-in`)),
  beginOidc: () => data(call<One<{ readonly url: string }>>("POST", `${OWN}/oidc`)),
  open: (token: string) => call("POST", `${OWN}/session`, { body: { token } }),
  own: (signal: AbortSignal) => data(call<One<OwnSession>>("GET", `${OWN}/session`, { signal })),
  end: () => call("DELETE", `${OWN}/session`),
  list: () => data(call<One<ListedSession[]>>("GET", `${OWN}/sessions`)),
  endOther: (id: string) => call("DELETE", `${OWN}/sessions/${id}`),
};
