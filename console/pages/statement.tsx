import { useCallback, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type WalletFilter, wallet } from "../api/console.ts";
import { showMoney } from "../core/money.ts";
import { toInstant } from "../core/time.ts";
import { useAction } from "../core/use-action.ts";
import { useCampaignNames } from "../core/use-campaign-names.ts";
import { usePages } from "../core/use-pages.ts";
import { CampaignLink } from "../parts/campaign-link.tsx";
import { Empty, Loading, PageTitle, ProblemBox, Status, Time } from "../parts/common-parts.tsx";
import { SelectField, TextField } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";

const KINDS = [
  ["", "any"],
  ["top_up", "top-up"],
  ["charge", "charge"],
  ["adjustment", "adjustment"],
  ["hold", "hold"],
  ["release", "release"],
] as const;

/** Every movement of money, with the balance after it; also as a file. */
export function StatementPage() {
  const { query } = useLocation();
  const [kind, setKind] = useState("");
  const [campaign, setCampaign] = useState(query.campaign_id ?? "");
  const [after, setAfter] = useState("");
  const [before, setBefore] = useState("");
  const filter: WalletFilter = {
    kind,
    campaign_id: campaign,
    created_after: toInstant(after),
    created_before: toInstant(before),
  };
  const key = JSON.stringify(filter);
  const load = useCallback((cursor?: string) => wallet.entries(JSON.parse(key), cursor), [key]);
  const list = usePages(`entries ${key}`, load);
  const names = useCampaignNames();
  // Those of the shown lines too: not every reader of the statement may read campaigns.
  const ids = new Set([
    ...names.keys(),
    ...list.rows.map((row) => row.campaign_id ?? ""),
    campaign,
  ]);
  const choices = [...ids]
    .filter((id) => id !== "")
    .map((id): readonly [string, string] => [id, names.get(id) ?? id]);
  const file = useAction(() => wallet.entriesFile(filter), save);
  return (
    <>
      <PageTitle
        note="Each movement of money and the balance after it."
        actions={
          <button type="button" disabled={file.isBusy} onClick={() => void file.run()}>
            {file.isBusy ? "Making the file…" : "Download as CSV"}
          </button>
        }
      >
        Statement
      </PageTitle>
      <div class="filter">
        <SelectField label="Kind" value={kind} options={KINDS} onInput={setKind} />
        <SelectField
          label="Campaign"
          value={campaign}
          options={[["", "any"], ...choices]}
          onInput={setCampaign}
        />
        <TextField label="From" type="datetime-local" value={after} onInput={setAfter} />
        <TextField label="Until" type="datetime-local" value={before} onInput={setBefore} />
      </div>
      <ProblemBox problem={file.problem ?? list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No movement in this time." />
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Movements"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
          columns={[
            { heading: "Time", cell: (row) => <Time at={row.created_at} /> },
            { heading: "Kind", cell: (row) => <Status value={row.kind} /> },
            {
              heading: "For",
              cell: (row) =>
                row.message_id === null ? (
                  (row.memo ?? row.reference ?? "")
                ) : (
                  <a href={`/console/messages/${row.message_id}`}>message</a>
                ),
            },
            {
              heading: "Campaign",
              cell: (row) =>
                row.campaign_id !== null && <CampaignLink id={row.campaign_id} names={names} />,
            },
            {
              heading: "Amount",
              isNumber: true,
              cell: (row) => showMoney(row.amount, row.currency),
            },
            {
              heading: "Balance after",
              isNumber: true,
              cell: (row) => showMoney(row.balance_after, row.currency),
            },
          ]}
        />
      )}
    </>
  );
}

function save(file: Blob): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = "statement.csv";
  link.click();
  URL.revokeObjectURL(address);
}
