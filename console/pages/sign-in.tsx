import { useEffect, useState } from "preact/hooks";
import { session } from "../api/console.ts";
import { pageAfter, TITLE } from "../core/console-path.ts";
import { useAction } from "../core/use-action.ts";
import { useLinkToken } from "../core/use-link-token.ts";
import { useResource } from "../core/use-resource.ts";
import { CodeField } from "../parts/code-field.tsx";
import { ProblemBox } from "../parts/common-parts.tsx";
import { faultOf, TextField } from "../parts/form.tsx";
import { ProviderButton } from "../parts/provider-button.tsx";

/** Why a sign-in through the provider failed. The page never shows a word of the address itself. */
const REFUSED: Readonly<Record<string, string>> = {
  email_not_verified: "The sign-in service has not verified your e-mail address.",
  not_found: "No account here has a member with your e-mail address. Ask an owner to invite you.",
  rate_limited: "Too many tries; wait a little.",
  service_unavailable: "The sign-in service does not answer; try again later.",
};
const REFUSED_OTHERWISE = "The sign-in failed. Begin again.";

/** Asks for a link by e-mail, or signs in with the link that was opened. */
export function SignInPage() {
  const token = useLinkToken();
  const [refused] = useState(() => new URLSearchParams(location.search).get("refused"));
  const [needsCode, setNeedsCode] = useState(false);
  const open = useAction(
    (_key: string, code: string) => session.open(token, code),
    ({ object }) => {
      if (object === "second_factor_request") setNeedsCode(true);
      else location.replace(pageAfter());
    },
  );
  useEffect(() => {
    document.title = `Sign in – ${TITLE}`;
    if (token !== "") void open.run("");
  }, []);

  if (needsCode) return <SecondFactor open={open} />;
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
      <AskForLink />
    </main>
  );
}

/** The code of the person's authenticator, after the link. */
function SecondFactor({
  open,
}: {
  readonly open: ReturnType<typeof useAction<readonly [string], { readonly object: string }>>;
}) {
  const [code, setCode] = useState("");
  const fault = faultOf(open.problem, "code");
  return (
    <main class="alone">
      <h1>Your code</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void open.run(code);
        }}
      >
        <CodeField
          value={code}
          onInput={setCode}
          fault={fault}
          hint="Of your authenticator. Without it, use one of your recovery codes."
        />
        {fault === undefined && <ProblemBox problem={open.problem} />}
        <button type="submit" class="primary" disabled={open.isBusy}>
          {open.isBusy ? "Signing in…" : "Sign in"}
        </button>
      </form>
    </main>
  );
}

function AskForLink() {
  const [email, setEmail] = useState("");
  const [isSent, setSent] = useState(false);
  const methods = useResource("methods", () => session.methods());
  const ask = useAction(
    () => session.ask(email),
    () => setSent(true),
  );
  if (isSent) {
    return (
      <div role="status">
        <p>
          If <strong>{email}</strong> belongs to an account, a link is on its way. It works once,
          for 15 minutes.
        </p>
        <button type="button" onClick={() => setSent(false)}>
          Use another address
        </button>
      </div>
    );
  }
  const provider = methods.data?.oidc ?? null;
  return (
    <>
      {provider !== null && <ProviderButton name={provider} begin={() => session.beginOidc()} />}
      {methods.data?.email === false ? (
        <p class="muted">
          This installation sends no e-mail. {provider === null && "Ask your provider for a link."}
        </p>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void ask.run();
          }}
        >
          <TextField
            label="E-mail"
            type="email"
            autoComplete="email"
            required
            value={email}
            onInput={setEmail}
            fault={faultOf(ask.problem, "email")}
            hint="You get a link. There is no password."
          />
          {faultOf(ask.problem, "email") === undefined && <ProblemBox problem={ask.problem} />}
          <button type="submit" class={provider === null ? "primary" : ""} disabled={ask.isBusy}>
            {ask.isBusy ? "Sending…" : "Send me a link"}
          </button>
        </form>
      )}
    </>
  );
}
