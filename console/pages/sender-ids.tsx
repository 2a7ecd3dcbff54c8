import { useCallback, useState } from "preact/hooks";
import { senderIds } from "../api/console.ts";
import { useCan } from "../core/session-context.ts";
import { useAction } from "../core/use-action.ts";
import { usePages } from "../core/use-pages.ts";
import { Empty, Loading, PageTitle, ProblemBox, Status, Time } from "../parts/common-parts.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { faultOf, TextField } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";

/** The names that messages show as their sender. */
export function SenderIdsPage() {
  const load = useCallback((cursor?: string) => senderIds.list({}, cursor), []);
  const [isOpen, setOpen] = useState(false);
  const canAsk = useCan("sender_ids:manage");
  const list = usePages("sender-ids", load, 30_000);
  return (
    <>
      <PageTitle
        note="The names that your messages show. Your provider approves each one."
        actions={
          canAsk && (
            <button type="button" class="primary" onClick={() => setOpen(true)}>
              Ask for a sender ID
            </button>
          )
        }
      >
        Sender IDs
      </PageTitle>
      {isOpen && (
        <Ask
          onClose={() => setOpen(false)}
          onDone={() => {
            setOpen(false);
            list.reload();
          }}
        />
      )}
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No sender ID yet.">Ask for the name that your messages should show.</Empty>
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Sender IDs"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
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

function Ask({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const [form, setForm] = useState({ name: "", use_case: "", sample: "" });
  const set = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const ask = useAction((key: string) => senderIds.request(key, form), onDone);
  return (
    <Dialog title="Ask for a sender ID" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void ask.run();
        }}
      >
        <TextField
          label="Name"
          required
          value={form.name}
          onInput={set("name")}
          fault={faultOf(ask.problem, "name")}
          hint="3 to 11 letters, digits and spaces, or a number of yours."
        />
        <TextField
          label="What it is for"
          required
          value={form.use_case}
          onInput={set("use_case")}
          fault={faultOf(ask.problem, "use_case")}
        />
        <TextField
          label="A sample text"
          required
          value={form.sample}
          onInput={set("sample")}
          fault={faultOf(ask.problem, "sample")}
        />
        <ProblemBox problem={ask.problem} />
        <div class="actions">
          <button type="submit" class="primary" disabled={ask.isBusy}>
            {ask.isBusy ? "Asking…" : "Ask"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
