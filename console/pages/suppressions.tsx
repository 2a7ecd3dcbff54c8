import { useCallback, useState } from "preact/hooks";
import { suppressions } from "../api/console.ts";
import type { Suppression, SuppressionImport } from "../api/types.ts";
import { useAction } from "../core/use-action.ts";
import { usePages } from "../core/use-pages.ts";
import { Empty, Loading, PageTitle, ProblemBox, Time } from "../parts/common-parts.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Field, TextField } from "../parts/form.tsx";
import { ImportResult } from "../parts/import-result.tsx";
import { Table } from "../parts/table.tsx";

/** Numbers that want no more messages. */
export function SuppressionsPage() {
  const [typed, setTyped] = useState("");
  const [number, setNumber] = useState("");
  const load = useCallback(
    (cursor?: string) => suppressions.list(number === "" ? {} : { number }, cursor),
    [number],
  );
  const list = usePages(`suppressions ${number}`, load, 0, idOf);
  return (
    <>
      <PageTitle note="Numbers that opted out get one-time codes only.">Opt-outs</PageTitle>
      <Add onDone={list.reload} />
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          setNumber(typed.trim());
        }}
      >
        <TextField label="Find a number" inputMode="tel" value={typed} onInput={setTyped} />
        <div class="actions">
          <button type="submit">Search</button>
        </div>
      </form>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No number has opted out." />
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Opted-out numbers"
          rows={list.rows}
          keyOf={idOf}
          {...list.more}
          columns={[
            { heading: "Number", cell: (row) => row.number },
            { heading: "For", cell: (row) => row.sender_id ?? "all sender IDs" },
            { heading: "By", cell: (row) => row.source },
            { heading: "Reason", isMinor: true, cell: (row) => row.reason ?? "" },
            { heading: "Since", cell: (row) => <Time at={row.created_at} /> },
            {
              heading: "Change",
              cell: (row) => (
                <ConfirmButton
                  label="Remove"
                  title={`Write to ${row.number} again?`}
                  act={() => suppressions.remove(row.number, row.sender_id)}
                  onDone={list.reload}
                >
                  Only do this when the person has asked for messages again.
                </ConfirmButton>
              ),
            },
          ]}
        />
      )}
    </>
  );
}

function Add({ onDone }: { readonly onDone: () => void }) {
  const [number, setNumber] = useState("");
  const [reason, setReason] = useState("");
  const [file, setFile] = useState<File>();
  const [result, setResult] = useState<SuppressionImport>();
  const done = (imported: SuppressionImport) => {
    setResult(imported);
    setNumber("");
    onDone();
  };
  const add = useAction(() => suppressions.add(number, reason), done);
  const addFile = useAction(() => suppressions.addCsv(file ?? new Blob()), done);
  return (
    <details class="card">
      <summary>Add numbers</summary>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          void add.run();
        }}
      >
        <TextField label="Number" required inputMode="tel" value={number} onInput={setNumber} />
        <TextField label="Reason" value={reason} onInput={setReason} />
        <div class="actions">
          <button type="submit" class="primary" disabled={add.isBusy}>
            Add
          </button>
        </div>
      </form>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          void addFile.run();
        }}
      >
        <Field label="Or a CSV file" hint="Columns: number, sender, reason.">
          {(ids) => (
            <input
              {...ids}
              type="file"
              accept=".csv,text/csv"
              onChange={(event) => setFile(event.currentTarget.files?.[0])}
            />
          )}
        </Field>
        <div class="actions">
          <button type="submit" disabled={file === undefined || addFile.isBusy}>
            {addFile.isBusy ? "Sending the file…" : "Add the file"}
          </button>
        </div>
      </form>
      <ProblemBox problem={add.problem ?? addFile.problem} />
      {result !== undefined && (
        <ImportResult
          counts={[
            ["added", result.added],
            ["there already", result.unchanged],
            ["refused", result.rejected],
          ]}
          faults={result.faults}
        />
      )}
    </details>
  );
}

function idOf({ number, sender_id }: Suppression): string {
  return `${number} ${sender_id}`;
}
