import { useResource } from "../../core/use-resource.ts";
import { Empty, PageTitle, Time } from "../../parts/common-parts.tsx";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Table } from "../../parts/table.tsx";
import { DEAD_LETTERS } from "../api/dead-letters.ts";
import { rpc } from "../api/rpc.ts";
import type { DeadLetter, InboundMessage } from "../api/types.ts";
import { type UnmatchedReceipt, unmatchedReceipts } from "../api/unmatched.ts";
import { useMay } from "../core/session-context.ts";
import { At, Waiting } from "../parts/common-parts.tsx";

const POLL_MS = 15_000;

/** Events, receipts and messages from handsets that no service could process. */
export function PutAsidePage() {
  return (
    <>
      <PageTitle note="No service could process these. Fix the cause, then replay.">
        Put aside
      </PageTitle>
      {DEAD_LETTERS.map((service) => (
        <DeadLetters key={service.name} {...service} />
      ))}
      <Unmatched />
      <Unowned />
    </>
  );
}

function DeadLetters({ name, list, replay }: (typeof DEAD_LETTERS)[number]) {
  const mayReplay = useMay(replay);
  const found = useResource(
    list,
    (signal) => rpc<{ deadLetters: DeadLetter[] }>(list, { limit: 100 }, signal),
    POLL_MS,
  );
  const letters = found.data?.deadLetters ?? [];
  return (
    <section aria-label={`${name}: events`}>
      <div class="page-title">
        <h2>{name}: events</h2>
        {mayReplay && letters.length > 0 && (
          <ConfirmButton
            label="Replay all"
            title={`Replay the events of ${name.toLowerCase()}?`}
            isDangerous={false}
            act={() => rpc(replay, {})}
            onDone={found.reload}
          >
            Each is processed once more. Those that fail again stay.
          </ConfirmButton>
        )}
      </div>
      <Waiting of={found} />
      {found.data !== undefined && letters.length === 0 && <Empty title="None." />}
      {letters.length > 0 && (
        <Table
          caption={`Events that ${name.toLowerCase()} put aside`}
          rows={letters}
          keyOf={({ id }) => id}
          columns={[
            { heading: "Time", cell: (row) => <At ms={row.createdAtMs} /> },
            { heading: "Event", cell: (row) => <code>{row.subject}</code> },
            { heading: "Why", cell: (row) => row.reason },
          ]}
        />
      )}
    </section>
  );
}

function Unmatched() {
  const found = useResource("unmatched", (signal) => unmatchedReceipts(signal), POLL_MS);
  const receipts = found.data ?? [];
  return (
    <section aria-label="Receipts without a message">
      <h2>Receipts without a message</h2>
      <p class="muted">Of the last three days. The carrier named a message that we never sent.</p>
      <Waiting of={found} />
      {found.data !== undefined && receipts.length === 0 && <Empty title="None." />}
      {receipts.length > 0 && (
        <Table<UnmatchedReceipt>
          caption="Receipts without a message"
          rows={receipts}
          keyOf={(row) => `${row.connector} ${row.carrier_ids.join()} ${row.received_at}`}
          columns={[
            { heading: "Time", cell: (row) => <Time at={row.received_at} /> },
            { heading: "Connector", cell: (row) => row.connector },
            { heading: "To", cell: (row) => row.to },
            { heading: "Says", cell: (row) => `${row.verdict} ${row.carrier_code}` },
            { heading: "Carrier's ids", cell: (row) => row.carrier_ids.join(", "), isMinor: true },
          ]}
        />
      )}
    </section>
  );
}

function Unowned() {
  const found = useResource(
    "unowned",
    (signal) =>
      rpc<{ messages: InboundMessage[] }>(
        "ConsentService/ListInboundMessages",
        { tenantId: "", limit: 50 },
        signal,
      ),
    POLL_MS,
  );
  const messages = found.data?.messages ?? [];
  return (
    <section aria-label="Inbound messages without a tenant">
      <h2>Inbound messages without a tenant</h2>
      <p class="muted">
        Give the number to a tenant with <code>smsctl inbound-number create</code>.
      </p>
      <Waiting of={found} />
      {found.data !== undefined && messages.length === 0 && <Empty title="None." />}
      {messages.length > 0 && (
        <Table
          caption="Inbound messages without a tenant"
          rows={messages}
          keyOf={({ id }) => id}
          columns={[
            { heading: "Time", cell: (row) => <At ms={row.receivedAtMs} /> },
            { heading: "From", cell: (row) => row.from },
            { heading: "To", cell: (row) => row.to },
            { heading: "Text", cell: (row) => <span class="excerpt">{row.body}</span> },
            { heading: "Connector", cell: (row) => row.connectorId, isMinor: true },
          ]}
        />
      )}
    </section>
  );
}
