import { useEffect } from "preact/hooks";
import { pageAfter, TITLE } from "../../core/place.ts";
import { useAction } from "../../core/use-action.ts";
import { useLinkToken } from "../../core/use-link-token.ts";
import { ProblemBox } from "../../parts/basics.tsx";
import { session } from "../api/session.ts";

/** Signs in with the link that was opened. */
export function SignInPage() {
  const token = useLinkToken();
  const open = useAction(
    () => session.open(token),
    () => location.replace(pageAfter()),
  );
  useEffect(() => {
    document.title = `Sign in – ${TITLE}`;
    if (token !== "") void open.run();
  }, []);

  return (
    <main class="alone">
      <h1>Sign in</h1>
      {open.isBusy && <p role="status">Signing in…</p>}
      <ProblemBox problem={open.problem} />
      <p>
        Operators sign in with a link, which works once. A person who may run <code>smsctl</code>
        makes one:
      </p>
      <pre>smsctl console link --operator --person you@example.com</pre>
    </main>
  );
}
