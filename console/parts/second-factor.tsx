import { useState } from "preact/hooks";
import { secondFactor } from "../api/console.ts";
import type { SecondFactorSecret } from "../api/types.ts";
import { useAction } from "../core/use-action.ts";
import { useResource } from "../core/use-resource.ts";
import { CodeField } from "./code-field.tsx";
import { Copy, ProblemBox, Time } from "./common-parts.tsx";
import { Dialog } from "./dialog.tsx";
import { faultOf } from "./form.tsx";
import { QrCode } from "./qr-code.tsx";

/** A code of an authenticator at each sign-in: turn it on, or off. */
export function SecondFactorSection() {
  const found = useResource("second-factor", () => secondFactor.get());
  const [secret, setSecret] = useState<SecondFactorSecret>();
  const [codes, setCodes] = useState<readonly string[]>([]);
  const [isTurningOff, setTurningOff] = useState(false);
  const begin = useAction(() => secondFactor.begin(), setSecret);
  if (found.data?.available !== true) return <ProblemBox problem={found.problem} />;
  return (
    <section aria-labelledby="second-factor">
      <h2 id="second-factor">Second factor</h2>
      <ProblemBox problem={found.problem ?? begin.problem} />
      {!found.data.enabled && (
        <>
          <p>
            Off. With it, a sign-in also asks for a code of an authenticator app on your phone, so
            that a reader of your mail cannot sign in.
          </p>
          <button type="button" disabled={begin.isBusy} onClick={() => void begin.run()}>
            Turn on
          </button>
        </>
      )}
      {found.data.enabled && (
        <>
          <p>
            On since <Time at={found.data.enabled_at} />. {found.data.recovery_codes_left} recovery
            codes are left.
          </p>
          <button type="button" class="danger" onClick={() => setTurningOff(true)}>
            Turn off
          </button>
        </>
      )}
      {secret !== undefined && (
        <TurnOn
          secret={secret}
          onClose={() => setSecret(undefined)}
          onDone={(shown) => {
            setSecret(undefined);
            setCodes(shown);
            found.reload();
          }}
        />
      )}
      {codes.length > 0 && <RecoveryCodes codes={codes} onClose={() => setCodes([])} />}
      {isTurningOff && (
        <TurnOff
          onClose={() => setTurningOff(false)}
          onDone={() => {
            setTurningOff(false);
            found.reload();
          }}
        />
      )}
    </section>
  );
}

function TurnOn({
  secret: { secret, uri },
  onClose,
  onDone,
}: {
  readonly secret: SecondFactorSecret;
  readonly onClose: () => void;
  readonly onDone: (codes: readonly string[]) => void;
}) {
  return (
    <Dialog title="Turn the second factor on" onClose={onClose}>
      <p>Scan this with your authenticator app, or type the key. It is shown this once.</p>
      <QrCode text={uri} label="The key as a QR code" />
      <p>
        <Copy text={secret} label="the key" />
      </p>
      <CodeForm
        button="Turn on"
        hint="That the app shows now."
        send={(code) => secondFactor.enable(code)}
        onDone={({ codes }) => onDone(codes)}
      />
    </Dialog>
  );
}

function TurnOff({
  onClose,
  onDone,
}: {
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  return (
    <Dialog title="Turn the second factor off" onClose={onClose}>
      <CodeForm
        button="Turn off"
        hint="Of your authenticator, or a recovery code."
        send={(code) => secondFactor.disable(code)}
        onDone={onDone}
      />
    </Dialog>
  );
}

function RecoveryCodes({
  codes,
  onClose,
}: {
  readonly codes: readonly string[];
  readonly onClose: () => void;
}) {
  return (
    <Dialog title="Your recovery codes" onClose={onClose}>
      <p>
        Each signs you in once when your phone is lost. Keep them where your phone is not; they are
        shown this once.
      </p>
      <ul class="codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function CodeForm<T>({
  button,
  hint,
  send,
  onDone,
}: {
  readonly button: string;
  readonly hint: string;
  readonly send: (code: string) => Promise<T>;
  readonly onDone: (answer: T) => void;
}) {
  const [code, setCode] = useState("");
  const action = useAction(() => send(code), onDone);
  const fault = faultOf(action.problem, "code");
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void action.run();
      }}
    >
      <CodeField value={code} onInput={setCode} fault={fault} hint={hint} />
      {fault === undefined && <ProblemBox problem={action.problem} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={action.isBusy}>
          {action.isBusy ? "Checking…" : button}
        </button>
      </div>
    </form>
  );
}
