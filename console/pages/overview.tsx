import { messages, senderIds, usage, wallet, webhooks } from "../api/console.ts";
import type { Message, UsageGroup } from "../api/types.ts";
import { showMoney, toUnits } from "../core/money.ts";
import { useCan, useSession } from "../core/session-context.ts";
import { daysAgo } from "../core/time.ts";
import { useResource } from "../core/use-resource.ts";
import { Empty, Figure, Loading, PageTitle, ProblemBox } from "../parts/basics.tsx";
import { MessageTable } from "../parts/message-table.tsx";

const POLL_MS = 15_000;

/** What is there, what went lately, and what is wrong now. */
export function OverviewPage() {
  const { tenant } = useSession();
  const canSend = useCan("messages:send");
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
      <Money />
      {useCan("usage:read") && <Lately />}
      {useCan("messages:read") && <Latest />}
    </>
  );
}

function Money() {
  const canRead = useCan("balance:read");
  const balance = useResource(
    canRead ? "balance" : "",
    async () => (canRead ? wallet.balance() : undefined),
    POLL_MS,
  );
  if (!canRead) return null;
  if (balance.data === undefined) return <ProblemBox problem={balance.problem} />;
  const { currency, available, held, balance: sum } = balance.data;
  return (
    <section aria-label="Money" class="figures">
      <Figure label="Available" value={showMoney(available, currency)} note="for new messages" />
      <Figure label="Held" value={showMoney(held, currency)} note="for messages on their way" />
      <Figure label="Balance" value={showMoney(sum, currency)} />
    </section>
  );
}

const PERIODS = [
  ["the last 24 hours", 1],
  ["7 days", 7],
  ["30 days", 30],
] as const;

/** Sends, the delivered share and the cost of three periods. */
function Lately() {
  const found = useResource(
    "lately",
    () =>
      Promise.all(
        PERIODS.map(async ([label, days]) => {
          const query = { group_by: "status", created_after: daysAgo(days) };
          return { label, ...(await usage.get(query)) };
        }),
      ),
    60_000,
  );
  if (found.data === undefined) return <ProblemBox problem={found.problem} />;
  return (
    <section aria-label="Sends" class="figures">
      {found.data.map(({ label, total, groups, currency }) => (
        <Figure
          key={label}
          label={`Sent in ${label}`}
          value={total.messages.toLocaleString()}
          note={`${deliveredShare(groups)} · ${showMoney(total.amount, currency)}`}
        />
      ))}
    </section>
  );
}

/** The share of messages whose fate is known: those on their way say nothing yet. */
function deliveredShare(groups: readonly UsageGroup[]): string {
  const count = (...wanted: readonly string[]) =>
    groups
      .filter(({ status = "" }) => wanted.includes(status))
      .reduce((sum, { messages }) => sum + messages, 0);
  const delivered = count("delivered");
  const known = delivered + count("undelivered", "expired", "failed");
  return known === 0 ? "none ended yet" : `${Math.round((delivered * 100) / known)} % delivered`;
}

/** What needs a person: each line says where. */
function Warnings() {
  const canHooks = useCan("webhooks:manage");
  const canBalance = useCan("balance:read");
  const canSenders = useCan("sender_ids:read");
  const found = useResource(
    "warnings",
    async () => {
      const lines: { readonly text: string; readonly path: string }[] = [];
      if (canBalance) {
        const { available, low_balance_threshold: low, currency } = await wallet.balance();
        if (toUnits(available) < toUnits(low)) {
          const text = `The balance is low: ${showMoney(available, currency)} are available.`;
          lines.push({ text, path: "/console" });
        }
      }
      if (canHooks) {
        for (const { id, url, status, disabled_reason: reason } of await webhooks.list()) {
          if (status === "disabled" && reason !== null) {
            const text = `The webhook endpoint ${url} is off: ${reason.replaceAll("_", " ")}.`;
            lines.push({ text, path: `/console/webhooks/${id}` });
          } else if (status === "enabled") {
            const { data } = await webhooks.deliveries(id, { status: "failed" });
            const dayAgo = Date.now() - 86_400_000;
            const failed = data.filter((one) => Date.parse(one.created_at) > dayAgo);
            if (failed.length > 0) {
              const text = `Deliveries to ${url} failed in the last day: ${failed.length}.`;
              lines.push({ text, path: `/console/webhooks/${id}` });
            }
          }
        }
      }
      if (canSenders) {
        const { data } = await senderIds.list();
        if (!data.some(({ usable }) => usable)) {
          lines.push({ text: "No sender ID can be used yet.", path: "/console/sender-ids" });
        }
      }
      return lines;
    },
    60_000,
  );
  if (found.data === undefined || found.data.length === 0) return null;
  return (
    <section class="warnings" aria-label="What needs attention">
      <h2>What needs attention</h2>
      <ul>
        {found.data.map(({ text, path }) => (
          <li key={text}>
            <a href={path}>{text}</a>
          </li>
        ))}
      </ul>
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
        <MessageTable caption="Latest messages" rows={list.data.data as readonly Message[]} />
      )}
    </section>
  );
}
