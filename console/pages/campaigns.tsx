import { useCallback } from "preact/hooks";
import { campaigns } from "../api/console.ts";
import type { Campaign } from "../api/types.ts";
import { showMoney } from "../core/money.ts";
import { useCan } from "../core/session-context.ts";
import { usePages } from "../core/use-pages.ts";
import { Empty, Loading, PageTitle, ProblemBox, Status, Time } from "../parts/common-parts.tsx";
import { PauseButton } from "../parts/pause-button.tsx";
import { Table } from "../parts/table.tsx";

/** All campaigns with their states. */
export function CampaignsPage() {
  const canManage = useCan("campaigns:manage");
  const load = useCallback((cursor?: string) => campaigns.list({}, cursor), []);
  const list = usePages("campaigns", load, 10_000);
  return (
    <>
      <PageTitle
        note="One text to many people, each once."
        actions={
          canManage && (
            <a class="button primary" href="/console/campaigns/new">
              New campaign
            </a>
          )
        }
      >
        Campaigns
      </PageTitle>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No campaign yet.">Make one from a CSV file of numbers.</Empty>
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Campaigns"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
          columns={[
            {
              heading: "Name",
              cell: (row) => <a href={`/console/campaigns/${row.id}`}>{row.name}</a>,
            },
            { heading: "Status", cell: (row) => <Status value={row.status} /> },
            {
              heading: "Recipients",
              isNumber: true,
              cell: (row) => row.progress.total.toLocaleString(),
            },
            {
              heading: "Delivered",
              isNumber: true,
              cell: (row) => row.progress.delivered.toLocaleString(),
            },
            {
              heading: "Charged",
              isNumber: true,
              cell: (row) => showMoney(row.progress.charged_amount, row.currency),
            },
            { heading: "Made", isMinor: true, cell: (row) => <Time at={row.created_at} /> },
            ...(canManage
              ? [
                  {
                    heading: "Stop",
                    cell: (row: Campaign) => (
                      <PauseButton campaign={row} reload={list.reload} isSmall />
                    ),
                  },
                ]
              : []),
          ]}
        />
      )}
    </>
  );
}
