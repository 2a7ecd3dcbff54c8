import type { ComponentType, Context } from "preact";
import { ErrorBoundary, LocationProvider, useLocation } from "preact-iso";
import { ROOT } from "../core/console-path.ts";
import { useResource } from "../core/use-resource.ts";
import { Loading, ProblemBox } from "./common-parts.tsx";

type Parts<S> = {
  readonly SignIn: ComponentType;
  /** The pages of a signed-in person, in their frame. */
  readonly Pages: ComponentType;
  readonly Session: Context<S | undefined>;
  readonly loadSession: (signal: AbortSignal) => Promise<S>;
};

/** A whole console: its sign-in page, and the pages that need a session. */
export function App<S>(parts: Parts<S>) {
  return (
    <LocationProvider scope={ROOT}>
      <ErrorBoundary>
        <Gate {...parts} />
      </ErrorBoundary>
    </LocationProvider>
  );
}

function Gate<S>(parts: Parts<S>) {
  const { SignIn } = parts;
  return useLocation().path === `${ROOT}/sign-in` ? <SignIn /> : <SignedIn {...parts} />;
}

const SESSION_POLL_MS = 30_000;

function SignedIn<S>({ Pages, Session, loadSession }: Parts<S>) {
  const own = useResource("session", loadSession, SESSION_POLL_MS);
  if (own.data === undefined) {
    return (
      <main class="alone">
        {own.problem === undefined ? <Loading /> : <ProblemBox problem={own.problem} />}
      </main>
    );
  }
  return (
    <Session.Provider value={own.data}>
      <Pages />
    </Session.Provider>
  );
}
