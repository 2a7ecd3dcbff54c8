import { useRoute } from "preact-iso";
import { useResource } from "../../core/use-resource.ts";
import { Copy, Empty, Facts, PageTitle, Status } from "../../parts/common-parts.tsx";
import { rpc } from "../api/rpc.ts";
import type { Delivery, Message } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { tenantNames } from "../core/tenant-names.ts";
import { timelineOf } from "../core/timeline.ts";
import { At, Money, TenantLink, Waiting } from "../parts/common-parts.tsx";

/** One message of any tenant: its history, its route, and each webhook attempt. */
export function MessagePage() {
  const id = useRoute().params.id ?? "";
  const found = useResource(`message ${id}`, async (signal) => {
    const page = await rpc<{ messages: Message[] }>(
      "MessagingService/FindMessages",
      { messageId: id },
      signal,
    );
    const [message] = page.messages;
    if (message === undefined) return { message, deliveries: [], names: undefined };
    const request = { tenantId: message.tenantId, messageId: id };
    const { deliveries } = await rpc<{ deliveries: Delivery[] }>(
      "WebhookService/ListMessageDeliveries",
      request,
      signal,
    );
    const names = await tenantNames([message.tenantId], signal);
    return { message, deliveries, names };
  });
  const { message, deliveries = [], names } = found.data ?? {};
  if (message === undefined) {
    return (
      <>
        <PageTitle>Message</PageTitle>
        <Waiting of={found} />
        {found.data !== undefined && (
          <Empty title="There is no such message.">Messages are kept for twelve months.</Empty>
        )}
      </>
    );
  }
  return (
    <>
      <PageTitle
        note={<Copy text={message.id} label="the id" />}
        actions={
          <button type="button" onClick={found.reload}>
            Load again
          </button>
        }
      >
        {`Message to ${message.to}`}
      </PageTitle>
      {message.error !== undefined && (
        <div class="problem">
          <strong>{message.error.message}</strong>
          <p class="muted">
            Code <code>{message.error.code}</code>
            {message.carrierCode !== "" && `, the carrier's code ${message.carrierCode}`}
          </p>
        </div>
      )}
      <div class="columns">
        <section aria-labelledby="timeline">
          <h2 id="timeline">What happened</h2>
          <ol class="timeline">
            {timelineOf(message, deliveries).map((entry, at) => (
              <li key={`${entry.atMs} ${at}`}>
                <At ms={entry.atMs} />{" "}
                {entry.status === undefined ? entry.text : <Status value={entry.status} />}{" "}
                {entry.note !== undefined && <span class="muted">{entry.note}</span>}
              </li>
            ))}
          </ol>
        </section>
        <section aria-labelledby="facts">
          <h2 id="facts">Details</h2>
          <Details message={message} tenantName={names?.get(message.tenantId)} />
        </section>
      </div>
    </>
  );
}

function Details({
  message,
  tenantName,
}: {
  readonly message: Message;
  readonly tenantName: string | undefined;
}) {
  const { currency } = message;
  return (
    <Facts
      rows={[
        ["Tenant", <TenantLink key="n" id={message.tenantId} name={tenantName} />],
        ["Status", <Status key="s" value={word(message.status, "MESSAGE_STATUS")} />],
        ["From", message.from],
        [
          "Text",
          <span key="b" class="body">
            {message.body === "" ? "(redacted)" : message.body}
          </span>,
        ],
        ["Parts", `${message.segments}, ${word(message.encoding, "ENCODING").toUpperCase()}`],
        ["Class", word(message.trafficClass, "TRAFFIC_CLASS")],
        ["Charged", <Money key="m" units={message.amount} currency={currency} />],
        ["Held at acceptance", <Money key="h" units={message.heldAmount} currency={currency} />],
        ["Connector", message.connectorId || null],
        ["Route", message.routeId || null],
        ["Mode", word(message.mode, "MODE")],
        ["Source", word(message.source, "MESSAGE_SOURCE").replace("_", " ")],
        ["Customer's reference", message.clientReference || null],
        ["Campaign", message.campaignId || null],
      ]}
    />
  );
}
