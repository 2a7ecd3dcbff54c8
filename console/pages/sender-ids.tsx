import { useCallback } from "preact/hooks";
import { senderIds } from "../api/console.ts";
import { usePages } from "../core/use-pages.ts";
import { Empty, Loading, PageTitle, ProblemBox, Status, Time } from "../parts/basics.tsx";
import { Table } from "../parts/table.tsx";

/** The names that messages show as their sender. */
export function SenderIdsPage() {
  const load = useCallback((cursor?: string) => senderIds.list({}, cursor), []);
  const list = usePages("sender-ids", load, 30_000);
  return (
    <>
      <PageTitle note="The names that your messages show. Your provider approves each one.">
        Sender IDs
      </PageTitle>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No sender ID yet.">Ask your provider for one.</Empty>
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Sender IDs"
          rows={list.rows}
          keyOf={({ id }) => id}
          hasMore={list.hasMore}
          isLoadingMore={list.isLoadingMore}
          onMore={() => void list.loadMore()}
          columns={[
            { heading: "Name", cell: (row) => <strong>{row.name}</strong> },
            { heading: "Status", cell: (row) => <Status value={row.status} /> },
            { heading: "Why", cell: (row) => row.rejection_reason ?? "" },
            { heading: "Changed", cell: (row) => <Time at={row.updated_at} /> },
          ]}
        />
      )}
    </>
  );
}
