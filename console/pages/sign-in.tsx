import { useEffect, useState } from "preact/hooks";
import { session } from "../api/console.ts";
import { useAction } from "../core/use-action.ts";
import { ProblemBox } from "../parts/basics.tsx";
import { faultOf, TextField } from "../parts/form.tsx";

/** Asks for a link by e-mail, or signs in with the link that was opened. */
export function SignInPage() {
  const [email, setEmail] = useState("");
  const [isSent, setSent] = useState(false);
  const [token] = useState(() => location.hash.slice(1));
  const ask = useAction(
    () => session.ask(email),
    () => setSent(true),
  );
  const open = useAction(
    () => session.open(token),
    () => location.replace(pageAfter()),
  );
  useEffect(() => {
    document.title = "Sign in – Console";
    if (token === "") return;
    // The token is of no use after this: it leaves the address and the history.
    history.replaceState(null, "", location.pathname);
    void open.run();
  }, []);

  return (
    <main class="alone">
      <h1>Sign in</h1>
      {open.isBusy && <p role="status">Signing in…</p>}
      <ProblemBox problem={open.problem} />
      {isSent ? (
        <div role="status">
          <p>
            If <strong>{email}</strong> belongs to an account, a link is on its way. It works once,
            for 15 minutes.
          </p>
          <button type="button" onClick={() => setSent(false)}>
            Use another address
          </button>
        </div>
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
          <button type="submit" class="primary" disabled={ask.isBusy}>
            {ask.isBusy ? "Sending…" : "Send me a link"}
          </button>
        </form>
      )}
    </main>
  );
}

/** The page that was open when the session ended; never an address elsewhere. */
function pageAfter(): string {
  const after = sessionStorage.getItem("sms-console-after") ?? "";
  sessionStorage.removeItem("sms-console-after");
  return /^\/console(?:\/[\w/-]*)?(?:\?[\w=&%.+:-]*)?$/.test(after) ? after : "/console";
}
