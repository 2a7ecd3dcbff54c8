import { messages, NOT_DELIVERED, usage, wallet } from "../api/console.ts";
import { showMoney } from "../core/money.ts";
import { useCan, useSession } from "../core/session-context.ts";
import { lastDays } from "../core/usage-series.ts";
import { useResource } from "../core/use-resource.ts";
import { Empty, Figure, Loading, PageTitle, ProblemBox } from "../parts/common-parts.tsx";
import { MessageTable } from "../parts/message-table.tsx";
import { UsageCharts } from "../parts/usage-charts.tsx";
import { Warnings } from "../parts/warnings.tsx";

const POLL_MS = 15_000;

/** The account's present problems, its money, and its latest messages. */
export function OverviewPage() {
  const { tenant } = useSession();
  const canSend = useCan("messages:send");
  const canRead = useCan("messages:read");
  return (
    <>
      <PageTitle
        note={`Account ${tenant.name}`}
        actions={
          canSend && (
            <a class="button primary" href="/console/send">
              Send a message
            </a>
          )
        }
      >
        Overview
      </PageTitle>
      <Warnings />
      {useCan("balance:read") && <Money />}
      {canRead && <NotDelivered />}
      {useCan("usage:read") && <UsageCharts />}
      {canRead && <Latest />}
    </>
  );
}

function Money() {
  const balance = useResource("balance", () => wallet.balance(), POLL_MS);
  if (balance.data === undefined) return <ProblemBox problem={balance.problem} />;
  const { currency, available, held, balance: sum } = balance.data;
  return (
    <section aria-label="Money" class="figures">
      <Figure label="Available" value={showMoney(available, currency)} note="for new messages" />
      <Figure label="Held" value={showMoney(held, currency)} note="for messages on their way" />
      <Figure label="Balance" value={showMoney(sum, currency)} />
      {useCan("usage:read") && <Yesterday />}
    </section>
  );
}

/** The cost of the day before, in the viewer's zone. */
function Yesterday() {
  const [yesterday = "", today = ""] = lastDays(2, new Date());
  const found = useResource(
    `yesterday ${yesterday}`,
    () =>
      usage.get({
        created_after: new Date(`${yesterday}T00:00:00`).toISOString(),
        created_before: new Date(`${today}T00:00:00`).toISOString(),
      }),
    60_000,
  );
  if (found.data === undefined) return <ProblemBox problem={found.problem} />;
  const { total, currency } = found.data;
  return (
    <Figure
      label="Cost of yesterday"
      value={showMoney(total.amount, currency)}
      note={<a href="/console/usage">{total.messages.toLocaleString()} messages</a>}
    />
  );
}

/** The latest messages that did not arrive, each with its reason; nothing when all arrived. */
function NotDelivered() {
  const list = useResource(
    "not delivered",
    () => messages.list({ status: NOT_DELIVERED }, undefined, 5),
    60_000,
  );
  const rows = list.data?.data ?? [];
  if (rows.length === 0) return <ProblemBox problem={list.problem} />;
  return (
    <section aria-labelledby="not-delivered">
      <div class="row">
        <h2 id="not-delivered">Not delivered, and why</h2>
        <a href="/console/messages?status=not_delivered">All of the last 7 days</a>
      </div>
      <MessageTable caption="Not delivered" rows={rows} />
    </section>
  );
}

function Latest() {
  const list = useResource("latest", () => messages.list({}, undefined, 10), POLL_MS);
  return (
    <section aria-labelledby="latest">
      <h2 id="latest">Latest messages</h2>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {list.data?.data.length === 0 && (
        <Empty title="No message in the last 7 days.">
          Send one with Quick send, or through the <a href="/docs">API</a>.
        </Empty>
      )}
      {list.data !== undefined && list.data.data.length > 0 && (
        <MessageTable caption="Latest messages" rows={list.data.data} />
      )}
    </section>
  );
}
