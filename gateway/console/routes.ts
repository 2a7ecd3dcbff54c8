/**
 * The console's own routes: sign-in, sessions and people (docs/contract.md#console). They are apart from `/v1`: an API
 * key has no session, and no key lets people in.
 */
import type { Middleware } from "koa";
import { AppError } from "../../services/shared/core/errors.ts";
import type { RequestState } from "../http/request-state.ts";
import type { ConsoleParts, ConsoleRoute } from "./console-request.ts";
import { beginOidc, completeOidc } from "./oidc.ts";
import { changeRole, invitePerson, listPeople, removePerson, resetSecondFactor } from "./people.ts";
import {
  beginSecondFactor,
  disableSecondFactor,
  enableSecondFactor,
  showSecondFactor,
} from "./second-factor.ts";
import { endSession, listSessions, showSession, signOut } from "./sessions.ts";
import { listSignInMethods, openSession, signIn } from "./sign-in.ts";
import { switchTenant } from "./switch-tenant.ts";

const PREFIX = "/console/api";

type Methods = Readonly<Partial<Record<string, ConsoleRoute>>>;

const ROUTES: readonly (readonly [path: RegExp, methods: Methods])[] = [
  [/^\/sign-in$/, { GET: listSignInMethods, POST: signIn }],
  [/^\/oidc$/, { POST: beginOidc }],
  [/^\/oidc\/callback$/, { GET: completeOidc }],
  [/^\/session$/, { GET: showSession, POST: openSession, DELETE: signOut }],
  [/^\/session\/tenant$/, { POST: switchTenant }],
  [/^\/sessions$/, { GET: listSessions }],
  [/^\/sessions\/ses_[0-9A-Z]{26}$/, { DELETE: endSession }],
  [/^\/second-factor$/, { GET: showSecondFactor, POST: beginSecondFactor }],
  [/^\/second-factor\/enable$/, { POST: enableSecondFactor }],
  [/^\/second-factor\/disable$/, { POST: disableSecondFactor }],
  [/^\/people$/, { GET: listPeople, POST: invitePerson }],
  [/^\/people\/usr_[0-9A-Z]{26}$/, { PATCH: changeRole, DELETE: removePerson }],
  [/^\/people\/usr_[0-9A-Z]{26}\/second-factor$/, { DELETE: resetSecondFactor }],
];

/** Serves the paths below `/console/api`; calls `next` for all others. */
export function createConsoleRoutes(parts: ConsoleParts): Middleware {
  return (context, next) => {
    const { path } = context.state as RequestState;
    if (!path.startsWith(`${PREFIX}/`)) return next();
    const own = path.slice(PREFIX.length);
    const methods = ROUTES.find(([form]) => form.test(own))?.[1];
    if (methods === undefined) throw new AppError("not_found", "There is no such path.");
    const route = methods[context.method];
    if (route === undefined) {
      context.set("Allow", Object.keys(methods).join(", "));
      throw new AppError("method_not_allowed", "This path does not have that method.");
    }
    return route(parts, context);
  };
}
