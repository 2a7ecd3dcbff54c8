import { useCallback, useState } from "preact/hooks";
import { inbound } from "../api/console.ts";
import { usePages } from "../core/use-pages.ts";
import { Empty, Loading, PageTitle, ProblemBox, Status, Time } from "../parts/common-parts.tsx";
import { TextField } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";

/** The messages that handsets sent to the account's numbers. */
export function InboundPage() {
  const [typed, setTyped] = useState("");
  const [from, setFrom] = useState("");
  const load = useCallback(
    (cursor?: string) => inbound.list(from === "" ? {} : { from }, cursor),
    [from],
  );
  const list = usePages(`inbound ${from}`, load, 5000);
  return (
    <>
      <PageTitle note="Answers and other messages to your numbers.">Inbound</PageTitle>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          setFrom(typed.trim());
        }}
      >
        <TextField label="From number" inputMode="tel" value={typed} onInput={setTyped} />
        <div class="actions">
          <button type="submit" class="primary">
            Search
          </button>
        </div>
      </form>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="Nothing has come in." />
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Inbound messages"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
          columns={[
            { heading: "Time", cell: (row) => <Time at={row.received_at} /> },
            { heading: "From", cell: (row) => row.from },
            { heading: "To", cell: (row) => row.to },
            { heading: "Text", cell: (row) => <span class="body">{row.body}</span> },
            {
              heading: "Did",
              cell: (row) => (row.action === null ? "" : <Status value={row.action} />),
            },
          ]}
        />
      )}
    </>
  );
}
