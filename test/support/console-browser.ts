/** A browser without pages, for tests of the console's requests: its cookie, and the headers that the console sends. */
import { Role } from "../../proto/gen/sms/v1/identity_pb.js";
import type { Customer, RestAnswer, RestStack } from "./rest.ts";

/** The path of the console's own routes. */
export const CONSOLE_API = "/console/api";

/** The stack must trust this machine as a proxy: each browser has an address of its own, as strangers are limited. */
export const BROWSER_SETTINGS = { TRUSTED_PROXIES: "127.0.0.0/8" } as const;

export type ConsoleBrowser = {
  /** `name=value`; empty before the sign-in and after the sign-out. */
  cookie: string;
  call(
    method: string,
    path: string,
    options?: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<RestAnswer>;
};

let addresses = 0;

/** Strangers are limited by network. */
function nextAddress(): string {
  addresses += 1;
  return `198.18.${addresses >> 8}.${addresses & 255}`;
}

export function openConsoleBrowser(gateway: string, address = nextAddress()): ConsoleBrowser {
  const { origin } = new URL(gateway);
  const browser: ConsoleBrowser = {
    cookie: "",
    async call(method, path, { body, headers = {} } = {}) {
      const response = await fetch(new URL(path, gateway), {
        method,
        redirect: "manual",
        headers: {
          origin,
          "sms-console": "1",
          "x-forwarded-for": address,
          cookie: browser.cookie,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      for (const set of response.headers.getSetCookie()) {
        if (set.startsWith("__Host-sms_session=")) browser.cookie = set.slice(0, set.indexOf(";"));
      }
      const text = await response.text();
      const isJson = /json/.test(response.headers.get("content-type") ?? "");
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: isJson && text !== "" ? JSON.parse(text) : undefined,
      };
    },
  };
  return browser;
}

/** The token of a new portal link. */
export async function portalToken(
  { tenants }: RestStack,
  { tenantId }: Customer,
  role: Role,
): Promise<string> {
  const { url } = await tenants.createPortalLink({ tenantId, role, displayName: "Ada" });
  return url.slice(url.indexOf("#") + 1);
}

/** Opens the session of a link's token; throws unless it succeeds. */
export async function openWith(browser: ConsoleBrowser, token: string): Promise<RestAnswer> {
  const answer = await browser.call("POST", `${CONSOLE_API}/session`, { body: { token } });
  if (answer.status !== 201) throw new Error(`the sign-in was refused: ${answer.text}`);
  return answer;
}

/** A browser with a session of that role. */
export async function signedInBrowser(
  rest: RestStack,
  customer: Customer,
  role = Role.OWNER,
): Promise<ConsoleBrowser> {
  const browser = openConsoleBrowser(rest.stack.gateway);
  await openWith(browser, await portalToken(rest, customer, role));
  return browser;
}
