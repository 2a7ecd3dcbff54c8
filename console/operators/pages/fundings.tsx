import { useCallback } from "preact/hooks";
import { useLocation } from "preact-iso";
import { usePages } from "../../core/use-pages.ts";
import { Empty, PageTitle, Status } from "../../parts/common-parts.tsx";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { SelectField } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { Funding } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { useMay, useSession } from "../core/session-context.ts";
import { withTenantNames } from "../core/tenant-names.ts";
import { At, Money, TenantLink, Waiting } from "../parts/common-parts.tsx";

const STATES = ["pending", "funded", "refused", "failed"] as const;

type Row = Funding & { readonly tenantName: string };

/** The fundings that persons asked for. A second person approves or refuses those that wait. */
export function FundingsPage() {
  const { query, route } = useLocation();
  const state = query.state ?? "pending";
  const mayDecide = useMay("WalletService/DecideFunding");
  const load = useCallback((cursor?: string) => listFundings(state, cursor), [state]);
  const list = usePages(`fundings ${state}`, load, 5000);
  return (
    <>
      <PageTitle note="Large amounts need two people: a person cannot approve their own request.">
        Fundings
      </PageTitle>
      <div class="filter">
        <SelectField
          label="State"
          value={state}
          options={[...STATES.map((one) => [one, one] as const), ["", "any"]]}
          onInput={(value) => route(`/operators/fundings?state=${value}`)}
        />
      </div>
      <Waiting of={list} />
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title={state === "pending" ? "No funding waits." : "None."}>
          Ask for one on the page of its <a href="/operators/tenants">tenant</a>.
        </Empty>
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Fundings"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
          columns={[
            { heading: "Asked", cell: (row) => <At ms={row.requestedAtMs} /> },
            {
              heading: "Tenant",
              cell: (row) => <TenantLink id={row.tenantId} name={row.tenantName} />,
            },
            {
              heading: "Amount",
              isNumber: true,
              cell: (row) => <Money units={row.amount} currency={row.currency} />,
            },
            { heading: "Reason", cell: (row) => row.reason },
            { heading: "By", cell: (row) => row.requestedBy },
            {
              heading: "State",
              cell: (row) => (
                <>
                  <Status value={word(row.state, "FUNDING_STATE")} />{" "}
                  <span class="muted">{row.failure || row.decidedBy}</span>
                </>
              ),
            },
            ...(mayDecide
              ? [
                  {
                    heading: "Decide",
                    cell: (row: Row) => <Decision funding={row} onDone={list.reload} />,
                  },
                ]
              : []),
          ]}
        />
      )}
    </>
  );
}

function Decision({ funding, onDone }: { readonly funding: Row; readonly onDone: () => void }) {
  const own = useSession().name === funding.requestedBy;
  if (word(funding.state, "FUNDING_STATE") !== "pending") return <>–</>;
  const decide = (approve: boolean) => () =>
    rpc("WalletService/DecideFunding", { fundingId: funding.id, approve });
  return (
    <div class="actions">
      {!own && (
        <ConfirmButton
          label="Approve"
          title={`Fund ${funding.tenantName}?`}
          isDangerous={false}
          act={decide(true)}
          onDone={onDone}
        >
          <Money units={funding.amount} currency={funding.currency} /> for “{funding.reason}”, asked
          for by {funding.requestedBy}.
        </ConfirmButton>
      )}
      <ConfirmButton
        label={own ? "Take back" : "Refuse"}
        title={own ? "Take this funding back?" : "Refuse this funding?"}
        act={decide(false)}
        onDone={onDone}
      >
        No money moves.
      </ConfirmButton>
    </div>
  );
}

async function listFundings(state: string, cursor = "") {
  const states = state === "" ? [] : [`FUNDING_STATE_${state.toUpperCase()}`];
  const page = await rpc<{ fundings: Funding[]; nextCursor: string }>(
    "WalletService/ListFundings",
    { states, cursor, limit: 50 },
  );
  return withTenantNames(page.fundings, page.nextCursor);
}
