import { useState } from "preact/hooks";
import { webhooks } from "../api/console.ts";
import type { Endpoint } from "../api/types.ts";
import { useAction } from "../core/use-action.ts";
import { useResource } from "../core/use-resource.ts";
import {
  Copy,
  Empty,
  Loading,
  PageTitle,
  ProblemBox,
  Status,
  Time,
} from "../parts/common-parts.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { faultOf, TextField } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";
import { WebhookHealth } from "../parts/webhook-health.tsx";

/** The endpoints of the account's own systems. */
export function WebhooksPage() {
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<Endpoint>();
  const list = useResource("webhooks", () => webhooks.list(), 15_000);
  return (
    <>
      <PageTitle
        note="Your systems get each event, signed, with retries until they respond."
        actions={
          <button type="button" class="primary" onClick={() => setOpen(true)}>
            Add an endpoint
          </button>
        }
      >
        Webhooks
      </PageTitle>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {list.data?.length === 0 && (
        <Empty title="No endpoint yet.">Add the HTTPS address of your system.</Empty>
      )}
      {list.data !== undefined && list.data.length > 0 && (
        <Table
          caption="Webhook endpoints"
          rows={list.data}
          keyOf={({ id }) => id}
          columns={[
            {
              heading: "Address",
              cell: (row) => <a href={`/console/webhooks/${row.id}`}>{row.url}</a>,
            },
            { heading: "Status", cell: (row) => <Status value={row.status} /> },
            { heading: "Health", cell: (row) => <WebhookHealth endpoint={row} /> },
            { heading: "Events", cell: (row) => eventsOf(row) },
            { heading: "Made", isMinor: true, cell: (row) => <Time at={row.created_at} /> },
          ]}
        />
      )}
      {isOpen && (
        <NewEndpoint
          onClose={() => setOpen(false)}
          onMade={(endpoint) => {
            setOpen(false);
            setMade(endpoint);
            list.reload();
          }}
        />
      )}
      {made !== undefined && (
        <Dialog title="The secret of the new endpoint" onClose={() => setMade(undefined)}>
          <p>Your system checks each request's signature with it. It is shown this once.</p>
          <Copy text={made.secret ?? ""} label="the secret" />
        </Dialog>
      )}
    </>
  );
}

function eventsOf({ event_types: types }: Endpoint): string {
  return types.length === 0 ? "all" : types.join(", ");
}

function NewEndpoint({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (endpoint: Endpoint) => void;
}) {
  const [url, setUrl] = useState("https://");
  const [description, setDescription] = useState("");
  const create = useAction(
    (key: string) => webhooks.create(key, { url, ...(description === "" ? {} : { description }) }),
    onMade,
  );
  return (
    <Dialog title="Add an endpoint" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void create.run();
        }}
      >
        <TextField
          label="Address"
          type="url"
          required
          value={url}
          onInput={setUrl}
          fault={faultOf(create.problem, "url")}
          hint="HTTPS, reachable from the internet."
        />
        <TextField label="Description (optional)" value={description} onInput={setDescription} />
        <ProblemBox problem={create.problem} />
        <div class="actions">
          <button type="submit" class="primary" disabled={create.isBusy}>
            {create.isBusy ? "Adding…" : "Add"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
