import { useAction } from "../core/use-action.ts";
import { ProblemBox } from "./common-parts.tsx";

/** Leads to the OpenID Connect provider of the installation. */
export function ProviderButton({
  name,
  begin,
}: {
  readonly name: string;
  readonly begin: () => Promise<{ readonly url: string }>;
}) {
  const oidc = useAction(begin, ({ url }) => location.assign(url));
  return (
    <div class="provider">
      <button type="button" class="primary" disabled={oidc.isBusy} onClick={() => void oidc.run()}>
        Sign in with {name}
      </button>
      <ProblemBox problem={oidc.problem} />
    </div>
  );
}
