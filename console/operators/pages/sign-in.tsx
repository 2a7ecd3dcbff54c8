import { useEffect, useState } from "preact/hooks";
import { pageAfter, TITLE } from "../../core/console-path.ts";
import { useAction } from "../../core/use-action.ts";
import { useLinkToken } from "../../core/use-link-token.ts";
import { useResource } from "../../core/use-resource.ts";
import { ProblemBox } from "../../parts/common-parts.tsx";
import { ProviderButton } from "../../parts/provider-button.tsx";
import { session } from "../api/session.ts";

/** Why a sign-in through the provider failed. The page never shows a word of the address itself. */
const REFUSED: Readonly<Record<string, string>> = {
  email_not_verified: "The sign-in service has not verified your e-mail address.",
  not_found: "Your e-mail address is no operator's. Ask a person who may run smsctl.",
  rate_limited: "Too many tries; wait a little.",
  service_unavailable: "The sign-in service does not answer; try again later.",
};
const REFUSED_OTHERWISE = "The sign-in failed. Begin again.";

/** Signs in with the link that was opened, or through the provider. */
export function SignInPage() {
  const token = useLinkToken();
  const [refused] = useState(() => new URLSearchParams(location.search).get("refused"));
  const methods = useResource("methods", () => session.methods());
  const open = useAction(
    () => session.open(token),
    () => location.replace(pageAfter()),
  );
  useEffect(() => {
    document.title = `Sign in – ${TITLE}`;
    if (token !== "") void open.run();
  }, []);
  const provider = methods.data?.oidc ?? null;

  return (
    <main class="alone">
      <h1>Sign in</h1>
      {open.isBusy && <p role="status">Signing in…</p>}
      {refused !== null && (
        <div class="problem" role="alert">
          <strong>{REFUSED[refused] ?? REFUSED_OTHERWISE}</strong>
        </div>
      )}
      <ProblemBox problem={open.problem} />
      {provider !== null && <ProviderButton name={provider} begin={() => session.beginOidc()} />}
      <p>
        {provider === null ? "Operators sign in" : "You can also sign in"} with a link, which works
        once. A person who may run <code>smsctl</code> makes one:
      </p>
      <pre>smsctl console link --operator --person you@example.com</pre>
    </main>
  );
}
