import type { RowFault } from "../api/types.ts";
import { Table } from "./table.tsx";

/** The counts of a file's rows, with the first refused ones. */
export function ImportResult({
  counts,
  faults,
}: {
  readonly counts: readonly (readonly [name: string, count: number])[];
  readonly faults: readonly RowFault[];
}) {
  return (
    <div role="status">
      <p>
        <strong>
          {counts.map(([name, count]) => `${count.toLocaleString()} ${name}`).join(", ")}
        </strong>
      </p>
      {faults.length > 0 && (
        <Table
          caption="Refused rows"
          rows={faults}
          keyOf={({ line, field, code }) => `${line} ${field} ${code}`}
          columns={[
            { heading: "Line", isNumber: true, cell: (row) => row.line },
            { heading: "Column", cell: (row) => row.field },
            { heading: "Why", cell: (row) => row.message },
          ]}
        />
      )}
    </div>
  );
}
