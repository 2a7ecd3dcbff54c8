import { useCallback, useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { webhooks } from "../api/console.ts";
import type { Delivery, Endpoint } from "../api/types.ts";
import { lastAnswer } from "../core/endpoint-health.ts";
import { useAction } from "../core/use-action.ts";
import { usePages } from "../core/use-pages.ts";
import { useResource } from "../core/use-resource.ts";
import {
  Copy,
  Empty,
  Facts,
  Loading,
  PageTitle,
  ProblemBox,
  Status,
  Time,
} from "../parts/common-parts.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { SelectField } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";
import { WebhookHealth } from "../parts/webhook-health.tsx";

/** One endpoint: its state, its log, and what can be done about a failure. */
export function WebhookPage() {
  const id = useRoute().params.id ?? "";
  const { route } = useLocation();
  const found = useResource(`webhook ${id}`, () => webhooks.get(id), 10_000);
  const [secret, setSecret] = useState("");
  const [sentAt, setSentAt] = useState(0);
  const test = useAction(
    (key: string) => webhooks.test(key, id),
    () => setSentAt(Date.now()),
  );
  const turn = useAction(
    (_key: string, status: string) => webhooks.change(id, { status }),
    found.reload,
  );
  const endpoint = found.data;
  if (endpoint === undefined) {
    return (
      <>
        <PageTitle>Webhook endpoint</PageTitle>
        {found.isLoading ? <Loading /> : <ProblemBox problem={found.problem} />}
      </>
    );
  }
  const isOn = endpoint.status === "enabled";
  return (
    <>
      <PageTitle
        note={<Copy text={endpoint.id} label="the id" />}
        actions={
          <>
            <button
              type="button"
              class="primary"
              disabled={test.isBusy}
              onClick={() => void test.run()}
            >
              Send a test event
            </button>
            <button
              type="button"
              disabled={turn.isBusy}
              onClick={() => void turn.run(isOn ? "disabled" : "enabled")}
            >
              {isOn ? "Turn off" : "Turn on"}
            </button>
            <ConfirmButton
              label="New secret"
              title="Make a new secret?"
              act={async (key) => setSecret((await webhooks.rotate(key, id)).secret ?? "")}
              isDangerous={false}
            >
              The present one signs too for 24 hours, so that you can change over.
            </ConfirmButton>
            <ConfirmButton
              label="Delete"
              title="Delete this endpoint?"
              act={() => webhooks.remove(id)}
              onDone={() => route("/console/webhooks")}
            >
              It gets no further event, and what waits for it is dropped.
            </ConfirmButton>
          </>
        }
      >
        {endpoint.url}
      </PageTitle>
      <ProblemBox problem={test.problem ?? turn.problem ?? found.problem} />
      <Facts
        rows={[
          ["Status", <Status key="s" value={endpoint.status} />],
          ["Health", <WebhookHealth key="h" endpoint={endpoint} />],
          ["Description", endpoint.description],
          ["Events", endpoint.event_types.length === 0 ? "all" : endpoint.event_types.join(", ")],
        ]}
      />
      <Deliveries endpoint={endpoint} sentAt={sentAt} />
      {secret !== "" && (
        <Dialog title="The new secret" onClose={() => setSecret("")}>
          <p>It is shown this once.</p>
          <Copy text={secret} label="the secret" />
        </Dialog>
      )}
    </>
  );
}

function Deliveries({
  endpoint,
  sentAt,
}: {
  readonly endpoint: Endpoint;
  readonly sentAt: number;
}) {
  const { id } = endpoint;
  const [status, setStatus] = useState("");
  const [shown, setShown] = useState<Delivery>();
  const load = useCallback(
    (cursor?: string) => webhooks.deliveries(id, status === "" ? {} : { status }, cursor),
    [id, status],
  );
  const list = usePages(`deliveries ${id} ${status} ${sentAt}`, load, 3000);
  const dayAgo = new Date(Date.now() - 86_400_000).toISOString();
  return (
    <section aria-labelledby="log">
      <h2 id="log">Deliveries</h2>
      <div class="filter">
        <SelectField
          label="Status"
          value={status}
          options={["", "pending", "succeeded", "failed", "dropped"].map(
            (one) => [one, one === "" ? "any" : one] as const,
          )}
          onInput={setStatus}
        />
        <div class="actions">
          <ConfirmButton
            label="Recover the last day"
            title="Send all failed deliveries of the last day again?"
            act={(key) => webhooks.recover(key, id, dayAgo)}
            onDone={list.reload}
            isDangerous={false}
          >
            Your system may get an event twice; each has the id that it had.
          </ConfirmButton>
        </div>
      </div>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && <Empty title="No delivery yet." />}
      {list.rows.length > 0 && (
        <Table
          caption="Deliveries"
          rows={list.rows}
          keyOf={(row) => row.id}
          {...list.more}
          columns={[
            { heading: "Time", cell: (row) => <Time at={row.created_at} /> },
            { heading: "Event", cell: (row) => row.event_type },
            { heading: "Status", cell: (row) => <Status value={row.status} /> },
            { heading: "Last answer", cell: (row) => lastAnswer(row) },
            { heading: "Attempts", isNumber: true, cell: (row) => row.attempts.length },
            {
              heading: "More",
              cell: (row) => (
                <button type="button" class="small" onClick={() => setShown(row)}>
                  Details
                </button>
              ),
            },
          ]}
        />
      )}
      {shown !== undefined && (
        <Details
          delivery={shown}
          onClose={() => setShown(undefined)}
          onResent={() => {
            setShown(undefined);
            list.reload();
          }}
        />
      )}
    </section>
  );
}

function Details({
  delivery,
  onClose,
  onResent,
}: {
  readonly delivery: Delivery;
  readonly onClose: () => void;
  readonly onResent: () => void;
}) {
  const resend = useAction(
    (key: string) => webhooks.resend(key, delivery.endpoint_id, delivery.id),
    onResent,
  );
  const whole = useResource(`delivery ${delivery.id}`, () =>
    webhooks.delivery(delivery.endpoint_id, delivery.id),
  );
  return (
    <Dialog title={`Delivery of ${delivery.event_type}`} onClose={onClose}>
      <Facts
        rows={[
          ["Status", <Status key="s" value={delivery.status} />],
          ["Event", <Copy key="e" text={delivery.event_id} label="the event's id" />],
          ["Next attempt", <Time key="n" at={delivery.next_attempt_at} />],
        ]}
      />
      <ol class="timeline">
        {delivery.attempts.map((one) => (
          <li key={one.number}>
            <Time at={one.started_at} /> ·{" "}
            {one.http_status === null ? one.error?.replaceAll("_", " ") : `HTTP ${one.http_status}`}{" "}
            · {one.duration_ms} ms
            {one.answer !== null && one.answer !== "" && <pre>{one.answer}</pre>}
          </li>
        ))}
      </ol>
      {typeof whole.data?.body === "string" && (
        <>
          <h3>What was sent</h3>
          <pre>{whole.data.body}</pre>
        </>
      )}
      <ProblemBox problem={resend.problem ?? whole.problem} />
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={resend.isBusy}
          onClick={() => void resend.run()}
        >
          {resend.isBusy ? "Sending…" : "Send it again"}
        </button>
      </div>
    </Dialog>
  );
}
