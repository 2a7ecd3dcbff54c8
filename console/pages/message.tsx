import { useRoute } from "preact-iso";
import { messages } from "../api/console.ts";
import type { Message, TimelineEntry } from "../api/types.ts";
import { answerText } from "../core/endpoint-health.ts";
import { showMoney } from "../core/money.ts";
import { useCan } from "../core/session-context.ts";
import { useResource } from "../core/use-resource.ts";
import {
  Copy,
  Facts,
  Loading,
  PageTitle,
  ProblemBox,
  Status,
  Time,
} from "../parts/common-parts.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";

const FINAL: ReadonlySet<string> = new Set([
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
]);

const NOT_SENT: Readonly<Record<string, string>> = {
  rejected: "Refused before it was sent",
  failed: "Not sent",
};

/** One message: its state, why, when what happened, and what it cost. */
export function MessagePage() {
  const id = useRoute().params.id ?? "";
  const canSend = useCan("messages:send");
  const found = useResource(`message ${id}`, () => messages.get(id), 3000);
  const message = found.data;
  if (message === undefined) {
    return (
      <>
        <PageTitle>Message</PageTitle>
        {found.isLoading ? <Loading /> : <ProblemBox problem={found.problem} />}
      </>
    );
  }
  const canCancel = canSend && (message.status === "scheduled" || message.status === "queued");
  return (
    <>
      <PageTitle
        note={<Copy text={message.id} label="the id" />}
        actions={
          canCancel && (
            <ConfirmButton
              label="Cancel the message"
              title="Cancel this message?"
              act={(key) => messages.cancel(key, message.id)}
              onDone={found.reload}
            >
              It will not be sent, and the money that is held for it returns.
            </ConfirmButton>
          )
        }
      >
        {`Message to ${message.to}`}
      </PageTitle>
      {message.error !== null && (
        <div class="problem">
          <strong>{`${NOT_SENT[message.status] ?? "Not delivered"}: ${message.error.message}`}</strong>
          <p class="muted">
            Code <code>{message.error.code}</code>.{" "}
            <a href="/docs/guides/statuses#codes-of-messages" target="_blank" rel="noopener">
              What the codes mean, and what to do
            </a>
          </p>
        </div>
      )}
      <div class="columns">
        <section aria-labelledby="timeline">
          <h2 id="timeline">What happened</h2>
          <Timeline message={message} />
        </section>
        <section aria-labelledby="facts">
          <h2 id="facts">Details</h2>
          <Facts
            rows={[
              ["Status", <Status key="s" value={message.status} />],
              ["From", message.from],
              [
                "Text",
                <span key="t" class="body">
                  {message.body}
                </span>,
              ],
              [
                "Parts",
                `${message.segments}, ${message.encoding === "ucs2" ? "UCS-2" : "GSM 7-bit"}`,
              ],
              ["Cost", showMoney(message.amount, message.currency)],
              ["Held", showMoney(message.held_amount, message.currency)],
              ["Mode", message.mode],
              ["Source", message.source.replace("_", " ")],
              ["Your reference", message.client_reference],
              [
                "Campaign",
                message.campaign_id !== null && (
                  <a key="c" href={`/console/campaigns/${message.campaign_id}`}>
                    {message.campaign_id}
                  </a>
                ),
              ],
              ["Scheduled for", message.scheduled_at && <Time key="d" at={message.scheduled_at} />],
            ]}
          />
        </section>
      </div>
    </>
  );
}

/** Statuses, money and webhook attempts in one line of time. */
function Timeline({ message }: { readonly message: Message }) {
  const key = `timeline ${message.id} ${message.status}`;
  const found = useResource(key, () => messages.timeline(message.id), 3000);
  return (
    <ol class="timeline">
      {(found.data?.entries ?? []).map((entry, at) => (
        <li key={`${entry.type} ${entry.at} ${at}`}>
          <Time at={entry.at} /> <Happened entry={entry} />
        </li>
      ))}
      {!FINAL.has(message.status) && (
        <li class="muted">
          {message.status === "sent" ? "Waiting for the carrier's receipt…" : "Waiting…"}
        </li>
      )}
    </ol>
  );
}

const MONEY: Readonly<Record<string, string>> = {
  hold: "held",
  charge: "charged",
  release: "returned",
};

function Happened({ entry }: { readonly entry: TimelineEntry }) {
  if (entry.status !== undefined) {
    return (
      <>
        <Status value={entry.status} />{" "}
        {entry.error != null && <span class="muted">{entry.error.message}</span>}
      </>
    );
  }
  if (MONEY[entry.type] !== undefined) {
    return (
      <>
        {showMoney(entry.amount, entry.currency ?? "")} {MONEY[entry.type]}
      </>
    );
  }
  const answer =
    entry.type === "webhook_due" ? "due" : answerText(entry.http_status, entry.failure);
  return (
    <>
      <a href={`/console/webhooks/${entry.endpoint_id}`}>Webhook</a> {entry.event_type}: {answer}
      {entry.attempt !== undefined && <span class="muted"> attempt {entry.attempt}</span>}
    </>
  );
}
