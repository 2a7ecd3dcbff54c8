import { useResource } from "../../core/use-resource.ts";
import { Empty, Facts, PageTitle, Status } from "../../parts/common-parts.tsx";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { BindHealth, Connector, DeliveryHealth, QueueStats } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { useMay } from "../core/session-context.ts";
import { At, Waiting } from "../parts/common-parts.tsx";

const POLL_MS = 3000;

type Listed = {
  readonly connectors: readonly Connector[];
  readonly health: readonly BindHealth[];
  readonly deliveries: readonly DeliveryHealth[];
};

/** The links to carriers, live: the state, the window and the queue of each. */
export function ConnectorsPage() {
  const list = useResource(
    "connectors",
    async (signal) => {
      const [listed, { queues }] = await Promise.all([
        rpc<Listed>("RoutingService/ListConnectors", {}, signal),
        rpc<{ queues: QueueStats[] }>("MessagingService/GetQueueStats", {}, signal),
      ]);
      return { ...listed, queues };
    },
    POLL_MS,
  );
  const { connectors = [], health = [], deliveries = [], queues = [] } = list.data ?? {};
  const stuck = queues.find(({ connectorId, waiting }) => connectorId === "" && waiting !== "0");
  return (
    <>
      <PageTitle note="Live: the figures are those of the last seconds.">Connectors</PageTitle>
      <Waiting of={list} />
      {list.data !== undefined && connectors.length === 0 && (
        <Empty title="There is no connector.">
          Make one with <code>smsctl connector add</code>.
        </Empty>
      )}
      {stuck !== undefined && (
        <p class="banner bad">
          {Number(stuck.waiting).toLocaleString()} messages wait and have no route that is enabled.
        </p>
      )}
      {connectors.map((connector) => (
        <ConnectorCard
          key={connector.id}
          connector={connector}
          binds={health.filter(({ connectorId }) => connectorId === connector.id)}
          delivery={deliveries.find(
            ({ connectorId, country }) => connectorId === connector.id && country === "",
          )}
          queue={queues.find(({ connectorId }) => connectorId === connector.id)}
          onDone={list.reload}
        />
      ))}
    </>
  );
}

function ConnectorCard({
  connector,
  binds,
  delivery,
  queue,
  onDone,
}: {
  readonly connector: Connector;
  readonly binds: readonly BindHealth[];
  readonly delivery: DeliveryHealth | undefined;
  readonly queue: QueueStats | undefined;
  readonly onDone: () => void;
}) {
  const state = word(connector.state, "CONNECTOR_STATE");
  return (
    <section class="card" aria-labelledby={`connector-${connector.id}`}>
      <div class="page-title">
        <h2 id={`connector-${connector.id}`}>{connector.id}</h2>
        <StateButton id={connector.id} state={state} onDone={onDone} />
      </div>
      <Facts
        rows={[
          ["State", <Status key="s" value={state} />],
          ["Kind", word(connector.type, "CONNECTOR_TYPE").toUpperCase()],
          [
            "Rate limit",
            connector.ratePerSecond === 0 ? "none" : `${connector.ratePerSecond} per second`,
          ],
          ["Queue", queueText(queue)],
          ["Delivery", delivery === undefined ? "not measured yet" : deliveryText(delivery)],
        ]}
      />
      {binds.length > 0 ? (
        <Binds connectorId={connector.id} binds={binds} />
      ) : (
        <p class="muted">No carrier process reports a link. It may be stopped, or just starting.</p>
      )}
    </section>
  );
}

function Binds({
  connectorId,
  binds,
}: {
  readonly connectorId: string;
  readonly binds: readonly BindHealth[];
}) {
  return (
    <Table
      caption={`Links of ${connectorId}`}
      rows={binds}
      keyOf={({ bind }) => bind}
      columns={[
        { heading: "Link", cell: (row) => row.bind },
        { heading: "State", cell: (row) => <Status value={row.link} /> },
        // Second, and shown on phones too: it is the reason of a link that is down.
        { heading: "Last error", cell: (row) => row.lastError || "–" },
        { heading: "Window", cell: (row) => <Window used={row.windowUsed} of={row.window} /> },
        { heading: "Per second", isNumber: true, cell: (row) => row.submitsPerSecond.toFixed(1) },
        {
          heading: "Answer (p99)",
          isNumber: true,
          cell: (row) => `${Math.round(row.answerMsP99)} ms`,
        },
        { heading: "Throttled", isNumber: true, isMinor: true, cell: (row) => row.throttled },
        { heading: "Reported", cell: (row) => <At ms={row.reportedAtMs} isAge /> },
      ]}
    />
  );
}

function queueText(queue: QueueStats | undefined): string {
  const { waiting = "0", sending = "0", oldestWaitingMs = "0" } = queue ?? {};
  const seconds = Math.round(Number(oldestWaitingMs) / 1000);
  const oldest = seconds > 0 ? `, the oldest for ${seconds} s` : "";
  const counted = (count: string) => Number(count).toLocaleString();
  return `${counted(waiting)} wait${oldest}; ${counted(sending)} are being sent`;
}

const DELIVERY_TEXTS: Readonly<Record<string, string>> = {
  ok: "as usual",
  low: "less than usual",
  no_receipts: "no receipts any more",
  too_few: "too few messages to compare",
};

function deliveryText({ state, rate }: DeliveryHealth): string {
  const share = rate === undefined ? "" : `${Math.round(rate * 100)} % delivered, `;
  return `${share}${DELIVERY_TEXTS[state] ?? state.replace("_", " ")}`;
}

function Window({ used, of }: { readonly used: number; readonly of: number }) {
  const text = `${used} of ${of}`;
  return (
    <span class="measure">
      <meter min={0} max={Math.max(1, of)} value={used} aria-label={`Window: ${text}`} />
      <span>{text}</span>
    </span>
  );
}

function StateButton({
  id,
  state,
  onDone,
}: {
  readonly id: string;
  readonly state: string;
  readonly onDone: () => void;
}) {
  const isActive = state === "active";
  const canResume = state === "paused" || state === "draining";
  const mayChange = useMay("RoutingService/UpdateConnector");
  // A state of a newer release has no button.
  if (!mayChange || !(isActive || canResume)) return null;
  const label = isActive ? "Pause" : "Resume";
  const next = isActive ? "CONNECTOR_STATE_PAUSED" : "CONNECTOR_STATE_ACTIVE";
  return (
    <div class="actions">
      <ConfirmButton
        key={label}
        label={label}
        title={`${label} ${id}?`}
        isDangerous={isActive}
        act={() =>
          rpc("RoutingService/UpdateConnector", {
            ...{ id, fields: ["state"] },
            connector: { id, state: next },
          })
        }
        onDone={onDone}
      >
        {isActive
          ? "It stays connected and sends nothing until it is resumed."
          : "It sends the messages that wait for it."}
      </ConfirmButton>
    </div>
  );
}
