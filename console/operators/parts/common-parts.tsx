/** Small parts of the operators' pages. */
import { fromUnits, showMoney } from "../../core/money.ts";
import type { Resource } from "../../core/use-resource.ts";
import { Loading, ProblemBox, Time } from "../../parts/common-parts.tsx";
import { instant } from "../core/protobuf-json.ts";

/** A time in milliseconds, which is a text; 0 is never. */
export function At({ ms, isAge = false }: { readonly ms: string; readonly isAge?: boolean }) {
  return <Time at={instant(ms)} isAge={isAge} />;
}

/** An amount in ten-thousandths, which is a text. */
export function Money({
  units,
  currency,
}: {
  readonly units: string | undefined;
  readonly currency: string;
}) {
  return <>{units === undefined ? "–" : showMoney(fromUnits(BigInt(units)), currency)}</>;
}

/** The state of a page that has no answer yet, or whose last request was refused. */
export function Waiting({ of }: { readonly of: Resource<unknown> }) {
  return (
    <>
      <ProblemBox problem={of.problem} />
      {of.isLoading && <Loading />}
    </>
  );
}

/** A tenant by its name, when it is known, with a link to its page. */
export function TenantLink({
  id,
  name,
}: {
  readonly id: string;
  readonly name?: string | undefined;
}) {
  if (id === "") return <>–</>;
  return <a href={`/operators/tenants/${id}`}>{name ?? id}</a>;
}
