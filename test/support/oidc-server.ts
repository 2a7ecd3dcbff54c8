/** A real OpenID Connect provider on loopback, whose people sign in without a form. */
import { randomBytes } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** A person of the provider. */
export type OidcAccount = { readonly email: string; readonly isVerified: boolean };

export type OidcServer = {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Begins to serve: the client's address is known after its stack has started. */
  serve(redirectUri: string): Promise<void>;
  /** The person of the sign-ins from now on. */
  account: OidcAccount;
  close(): Promise<void>;
};

/** The parts of the package `oidc-provider` that are used here; it has no types of its own. */
type Provider = {
  callback(): RequestListener;
  interactionFinished(
    request: IncomingMessage,
    response: ServerResponse,
    result: object,
    options: object,
  ): Promise<void>;
};
type Grant = { addOIDCScope(scope: string): void; save(): Promise<void> };
type GrantContext = {
  readonly oidc: {
    readonly provider: { readonly Grant: new (of: object) => Grant };
    readonly session: { readonly accountId: string };
  };
};

const INTERACTION = "/interaction";

export async function startOidcServer(): Promise<OidcServer> {
  let handle: RequestListener = (_request, response) => response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientId = "sms-console";
  const clientSecret = randomBytes(32).toString("base64url");
  const accounts = new Map<string, OidcAccount>();
  const own: OidcServer = {
    issuer,
    clientId,
    clientSecret,
    account: { email: "nobody@example.org", isVerified: true },
    async serve(redirectUri) {
      const { default: Provider } = (await import("oidc-provider" as string)) as {
        readonly default: new (issuer: string, options: object) => Provider;
      };
      const provider = new Provider(issuer, {
        clients: [
          { client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] },
        ],
        claims: { openid: ["sub"], email: ["email", "email_verified"] },
        cookies: { keys: [randomBytes(32).toString("hex")] },
        ttl: { Grant: 60, Session: 60, AccessToken: 60, IdToken: 60, Interaction: 60 },
        features: { devInteractions: { enabled: false } },
        interactions: {
          url: (_context: unknown, { uid }: { uid: string }) => `${INTERACTION}/${uid}`,
        },
        async findAccount(_context: unknown, accountId: string) {
          const { email, isVerified } = accounts.get(accountId) ?? own.account;
          const claims = () => ({ sub: accountId, email, email_verified: isVerified });
          return { accountId, claims };
        },
        async loadExistingGrant({ oidc }: GrantContext) {
          const { accountId } = oidc.session;
          const grant = new oidc.provider.Grant({ clientId, accountId });
          grant.addOIDCScope("openid email");
          await grant.save();
          return grant;
        },
      });
      const callback = provider.callback();
      handle = (request, response) => {
        if (request.url?.startsWith(INTERACTION) !== true) return callback(request, response);
        const accountId = `account-${accounts.size}`;
        accounts.set(accountId, own.account);
        const result = { login: { accountId, remember: false } };
        const options = { mergeWithLastSubmission: false };
        void provider.interactionFinished(request, response, result, options);
      };
    },
    close: () => closeServer(server),
  };
  return own;
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

/** Signs a browser in at the provider; returns the address that it sends the browser back to. */
export async function signInAt(provider: OidcServer, start: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  while (url.origin === provider.issuer) {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ""] = set.split(";");
      cookies.set(pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1));
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`the provider refused: ${await response.text()}`);
    url = new URL(location, url);
  }
  return url;
}
