import { showSpan } from "../../core/time.ts";
import { useResource } from "../../core/use-resource.ts";
import { Empty, Facts, PageTitle, Status } from "../../parts/common-parts.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { CheckResult } from "../api/types.ts";
import { instant } from "../core/protobuf-json.ts";
import { At, TenantLink, Waiting } from "../parts/common-parts.tsx";

/** The last results of `smsctl check`, which proves that no message and no money is lost. */
export function ChecksPage() {
  const found = useResource(
    "checks",
    (signal) => rpc<{ results: CheckResult[] }>("TenantService/ListChecks", { limit: 20 }, signal),
    30_000,
  );
  const [last, ...earlier] = found.data?.results ?? [];
  return (
    <>
      <PageTitle
        note={
          <>
            Results of <code>smsctl check</code>, which compares all messages and money.
          </>
        }
      >
        Checks
      </PageTitle>
      <Waiting of={found} />
      {found.data !== undefined && last === undefined && (
        <Empty title="No check has run yet.">
          Run <code>smsctl check</code> each day; its results are here.
        </Empty>
      )}
      {last !== undefined && <Last result={last} />}
      {earlier.length > 0 && (
        <>
          <h2>Earlier ones</h2>
          <Table
            caption="Earlier checks"
            rows={earlier}
            keyOf={({ id }) => id}
            columns={[
              { heading: "Ended", cell: (row) => <At ms={row.finishedAtMs} /> },
              { heading: "Result", cell: (row) => <Verdict result={row} /> },
              { heading: "Of", cell: (row) => <Scope result={row} /> },
              { heading: "By", cell: (row) => row.person, isMinor: true },
              { heading: "Breaches", isNumber: true, cell: countBreaches },
            ]}
          />
        </>
      )}
    </>
  );
}

function Last({ result }: { readonly result: CheckResult }) {
  const { breaches, unfinished, compared, startedAtMs, finishedAtMs } = result;
  return (
    <>
      <section class="card columns" aria-label="The last check">
        <Facts
          rows={[
            ["Result", <Verdict key="v" result={result} />],
            ["Ended", <At key="t" ms={finishedAtMs} />],
            ["Took", showSpan(instant(startedAtMs) ?? "", instant(finishedAtMs) ?? "")],
            ["Of", <Scope key="s" result={result} />],
            ["By", result.person],
          ]}
        />
        <Facts
          rows={Object.entries(compared).map(([name, count]) => [
            name.replaceAll("_", " "),
            Number(count).toLocaleString(),
          ])}
        />
      </section>
      {unfinished.map((text) => (
        <p key={text} class="banner">
          {text}
        </p>
      ))}
      {breaches.length > 0 && (
        <Table
          caption="Breaches"
          rows={breaches}
          keyOf={({ invariant, what, ids }) => `${invariant} ${what} ${ids.join()}`}
          columns={[
            { heading: "Invariant", isNumber: true, cell: (row) => row.invariant },
            { heading: "What", cell: (row) => row.what },
            { heading: "Ids", cell: (row) => <code>{row.ids.join(", ")}</code> },
          ]}
        />
      )}
    </>
  );
}

function Verdict({ result }: { readonly result: CheckResult }) {
  if (result.ok) return <Status value="ok" />;
  const isUnfinished = result.breaches.length === 0 && result.unlisted === "0";
  return <Status value={isUnfinished ? "unfinished" : "failed"} />;
}

function Scope({ result }: { readonly result: CheckResult }) {
  return result.tenantId === "" ? <>all tenants</> : <TenantLink id={result.tenantId} />;
}

function countBreaches({ breaches, unlisted }: CheckResult): string {
  return (breaches.length + Number(unlisted)).toLocaleString();
}
