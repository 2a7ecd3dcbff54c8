/** A browser of an operator without its pages: its cookie, and the headers that the pages send. */
import { callRest, type RestAnswer, type RestStack } from "./rest.ts";

/** The cookie is that of the last answer. */
export type OperatorBrowser = {
  cookie: string;
  call(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string>; at?: string },
  ): Promise<RestAnswer>;
  /** Calls a method such as `TenantService/GetTenant`. */
  rpc(method: string, body?: unknown): Promise<RestAnswer>;
};

export const API = "/operators/api";

/** Opens a browser at the operators' console of the stack. */
export function openOperatorBrowser(origin: string): OperatorBrowser {
  const browser: OperatorBrowser = {
    cookie: "",
    async call(method, path, { body, headers = {}, at = origin } = {}) {
      const own = { origin: at, "sms-console": "1", cookie: browser.cookie };
      const answer = await callRest(at, method, path, { body, headers: { ...own, ...headers } });
      const set = answer.headers.get("set-cookie");
      if (set !== null) browser.cookie = set.slice(0, set.indexOf(";"));
      return answer;
    },
    rpc: (method, body = {}) => browser.call("POST", `${API}/rpc/sms.v1.${method}`, { body }),
  };
  return browser;
}

/** The token of a new link of that person. */
export async function operatorToken(
  rest: Pick<RestStack, "tenants">,
  person: string,
  role: number,
): Promise<string> {
  const { url } = await rest.tenants.createOperatorLink({ person, role });
  return url.slice(url.indexOf("#") + 1);
}
