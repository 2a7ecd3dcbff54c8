import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useResource } from "../../core/use-resource.ts";
import { Empty, PageTitle, Status } from "../../parts/common-parts.tsx";
import { TextField } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { explain } from "../api/explain.ts";
import { Money, Waiting } from "../parts/common-parts.tsx";

/** Why a tenant's message to a number would take a route, at which price, or why it would be refused. */
export function ExplainPage() {
  const { query, route } = useLocation();
  const [form, setForm] = useState({
    tenant: query.tenant ?? "",
    from: query.from ?? "",
    to: query.to ?? "",
  });
  const set = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const { tenant = "", from = "", to = "" } = query;
  return (
    <>
      <PageTitle note="As things are now; nothing is sent.">Explain a number</PageTitle>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          route(`/operators/explain?${new URLSearchParams(form)}`);
        }}
      >
        <TextField label="Number" required inputMode="tel" value={form.to} onInput={set("to")} />
        <TextField
          label="Tenant"
          required
          value={form.tenant}
          onInput={set("tenant")}
          hint="Its name or id."
        />
        <TextField label="Sender ID" required value={form.from} onInput={set("from")} />
        <div class="actions">
          <button type="submit" class="primary">
            Explain
          </button>
        </div>
      </form>
      {to !== "" && tenant !== "" && from !== "" && (
        <Explanation key={JSON.stringify(query)} tenant={tenant} from={from} to={to} />
      )}
    </>
  );
}

function Explanation(asked: {
  readonly tenant: string;
  readonly from: string;
  readonly to: string;
}) {
  const found = useResource(JSON.stringify(asked), (signal) => explain(asked, signal));
  if (found.data === undefined) return <Waiting of={found} />;
  const { to, country, currency, routes, checks } = found.data;
  return (
    <>
      <h2>
        {to} {country !== "" && <span class="muted">in {country}</span>}
      </h2>
      <Table
        caption="May it be sent?"
        rows={checks}
        keyOf={({ name }) => name}
        columns={[
          { heading: "Asked", cell: (row) => row.name },
          {
            heading: "Answer",
            cell: (row) => <Status value={row.isGood ? "yes" : row.isWait ? "waits" : "no"} />,
          },
          { heading: "Why", cell: (row) => row.why },
        ]}
      />
      <h2>Routes</h2>
      {routes.length === 0 && <Empty title="There is no route." />}
      {routes.length > 0 && (
        <Table
          caption="Routes"
          rows={routes}
          keyOf={({ route }) => route.id}
          columns={[
            { heading: "Route", cell: (row) => <strong>{row.route.name}</strong> },
            { heading: "Connector", cell: (row) => row.route.connectorId },
            {
              heading: "Chosen",
              cell: (row) => <Status value={row.chosen ? "chosen" : "not chosen"} />,
            },
            { heading: "Why", cell: (row) => row.why },
            { heading: "Prefix", cell: (row) => row.matchedPrefix || "–", isMinor: true },
            {
              heading: "Price of a part",
              isNumber: true,
              cell: (row) =>
                row.matchedPrefix === "" ? "–" : <Money units={row.price} currency={currency} />,
            },
          ]}
        />
      )}
    </>
  );
}
