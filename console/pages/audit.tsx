import { useCallback } from "preact/hooks";
import { audit } from "../api/console.ts";
import type { AuditEntry } from "../api/types.ts";
import { usePages } from "../core/use-pages.ts";
import { Empty, Loading, PageTitle, ProblemBox, Time } from "../parts/common-parts.tsx";
import { Table } from "../parts/table.tsx";

/** The audit trail, newest first. */
export function AuditPage() {
  const load = useCallback((cursor?: string) => audit.list({}, cursor), []);
  const list = usePages("audit", load);
  return (
    <>
      <PageTitle note="Who changed what in this account.">Audit</PageTitle>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No change yet." />
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Changes"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
          columns={[
            { heading: "Time", cell: (row) => <Time at={row.created_at} /> },
            { heading: "What", cell: (row) => row.action.replaceAll(/[._]/g, " ") },
            { heading: "Who", cell: (row) => row.actor.id ?? row.actor.type },
            { heading: "From", isMinor: true, cell: (row) => row.actor.address ?? "" },
            { heading: "Change", cell: (row) => <Change entry={row} /> },
          ]}
        />
      )}
    </>
  );
}

function Change({ entry: { before, after, subject } }: { readonly entry: AuditEntry }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  if (names.length === 0) return <code>{subject}</code>;
  return (
    <details>
      <summary>{names.slice(0, 3).join(", ")}</summary>
      <ul>
        {names.map((name) => (
          <li key={name}>
            {name}: <code>{show(before?.[name])}</code> → <code>{show(after?.[name])}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}

function show(value: unknown): string {
  if (value === undefined || value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
