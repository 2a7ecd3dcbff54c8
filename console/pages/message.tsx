import { useRoute } from "preact-iso";
import { messages } from "../api/console.ts";
import type { Message } from "../api/types.ts";
import { showMoney } from "../core/money.ts";
import { useCan } from "../core/session-context.ts";
import { showSpan } from "../core/time.ts";
import { useResource } from "../core/use-resource.ts";
import { Copy, Facts, Loading, PageTitle, ProblemBox, Status, Time } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";

const FINAL: ReadonlySet<string> = new Set([
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
]);

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
          <strong>{message.error.message}</strong>
          <p class="muted">
            Code <code>{message.error.code}</code>
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
              ["Price", showMoney(message.amount, message.currency)],
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

function Timeline({ message }: { readonly message: Message }) {
  const history = message.status_history ?? [];
  return (
    <ol class="timeline">
      {history.map(({ status, occurred_at, error }, at) => (
        <li key={`${status} ${occurred_at}`}>
          <Status value={status} /> <Time at={occurred_at} />
          {at > 0 && (
            <span class="muted">
              {" "}
              after {showSpan(history[at - 1]?.occurred_at ?? "", occurred_at)}
            </span>
          )}
          {error !== null && <div class="muted">{error.message}</div>}
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
