import { useCallback, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type MessageFilter, messages, NOT_DELIVERED } from "../api/console.ts";
import { toInstant } from "../core/time.ts";
import { usePages } from "../core/use-pages.ts";
import { Empty, Loading, PageTitle, ProblemBox } from "../parts/common-parts.tsx";
import { SelectField, TextField } from "../parts/form.tsx";
import { MessageTable } from "../parts/message-table.tsx";

/** Of the addresses of this page, for all statuses of messages that did not arrive. */
const ANY_NOT_DELIVERED = "not_delivered";
const STATUSES = [
  ANY_NOT_DELIVERED,
  "scheduled",
  "queued",
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
] as const;
const SOURCES = ["api", "campaign", "quick_send", "test_send"] as const;
const NAMES = ["to", "status", "from", "client_reference", "campaign_id", "source"] as const;
const POLL_MS = 10_000;

/** All messages, searched by what a person knows of one. The search is in the address, so it can be passed on. */
export function MessagesPage() {
  const { query, route } = useLocation();
  const [form, setForm] = useState<Record<string, string>>(query);
  const filter: MessageFilter = {
    ...Object.fromEntries(NAMES.map((name) => [name, query[name]])),
    ...(query.status === ANY_NOT_DELIVERED ? { status: NOT_DELIVERED } : {}),
    created_after: toInstant(query.after ?? ""),
    created_before: toInstant(query.before ?? ""),
  };
  const key = JSON.stringify(filter);
  const load = useCallback((cursor?: string) => messages.list(filter, cursor), [key]);
  const list = usePages(key, load, POLL_MS);
  const set = (name: string) => (value: string) => setForm({ ...form, [name]: value });
  const submit = (next: Record<string, string>) => {
    const set = Object.entries(next).filter(([, value]) => value !== "");
    route(`/console/messages?${new URLSearchParams(set)}`);
  };

  return (
    <>
      <PageTitle note="Newest first; of the last 7 days unless a time is given.">
        Messages
      </PageTitle>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          submit(form);
        }}
      >
        <TextField label="Number" inputMode="tel" value={form.to ?? ""} onInput={set("to")} />
        <SelectField
          label="Status"
          value={form.status ?? ""}
          options={[["", "any"], ...STATUSES.map((one) => [one, one.replace("_", " ")] as const)]}
          onInput={set("status")}
        />
        <TextField
          label="Your reference"
          value={form.client_reference ?? ""}
          onInput={set("client_reference")}
        />
        <TextField label="Sender ID" value={form.from ?? ""} onInput={set("from")} />
        <TextField label="Campaign" value={form.campaign_id ?? ""} onInput={set("campaign_id")} />
        <SelectField
          label="Source"
          value={form.source ?? ""}
          options={[["", "any"], ...SOURCES.map((one) => [one, one.replace("_", " ")] as const)]}
          onInput={set("source")}
        />
        <TextField
          label="From"
          type="datetime-local"
          value={form.after ?? ""}
          onInput={set("after")}
        />
        <TextField
          label="Until"
          type="datetime-local"
          value={form.before ?? ""}
          onInput={set("before")}
        />
        <div class="actions">
          <button type="submit" class="primary">
            Search
          </button>
          <button
            type="button"
            onClick={() => {
              setForm({});
              submit({});
            }}
          >
            Clear
          </button>
        </div>
      </form>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No message matches.">Take a field away, or give an earlier time.</Empty>
      )}
      {list.rows.length > 0 && <MessageTable caption="Messages" rows={list.rows} {...list.more} />}
    </>
  );
}
