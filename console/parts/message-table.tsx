import type { Message } from "../api/types.ts";
import { showMoney } from "../core/money.ts";
import type { MoreRows } from "../core/use-pages.ts";
import { Status, Time } from "./common-parts.tsx";
import { type Column, Table } from "./table.tsx";

const COLUMNS: readonly Column<Message>[] = [
  { heading: "Time", cell: (row) => <Time at={row.created_at} /> },
  { heading: "To", cell: (row) => <a href={`/console/messages/${row.id}`}>{row.to}</a> },
  { heading: "From", cell: (row) => row.from, isMinor: true },
  {
    heading: "Status",
    cell: (row) => (
      <>
        <Status value={row.status} />
        {row.error !== null && <span class="muted"> {row.error.message}</span>}
      </>
    ),
  },
  { heading: "Text", cell: (row) => <span class="excerpt">{row.body}</span>, isMinor: true },
  {
    heading: "Cost",
    isNumber: true,
    cell: (row) => showMoney(row.amount, row.currency),
  },
];

/** Messages as rows; the number leads to the message. */
export function MessageTable({
  caption,
  rows,
  ...more
}: {
  readonly caption: string;
  readonly rows: readonly Message[];
} & MoreRows) {
  return <Table caption={caption} columns={COLUMNS} rows={rows} keyOf={({ id }) => id} {...more} />;
}
