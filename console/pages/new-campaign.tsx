import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { campaigns, senderIds } from "../api/console.ts";
import type { Campaign } from "../api/types.ts";
import { placeholders } from "../core/csv-preview.ts";
import { fourPlaces } from "../core/money.ts";
import { toInstant } from "../core/time.ts";
import { useAction } from "../core/use-action.ts";
import { useResource } from "../core/use-resource.ts";
import { BodyField } from "../parts/body-field.tsx";
import { PageTitle, ProblemBox } from "../parts/common-parts.tsx";
import { faultOf, SelectField, TextField } from "../parts/form.tsx";

/** The text, the sender and the limits of a campaign; recipients come on its own page. */
export function NewCampaignPage() {
  const { route } = useLocation();
  const senders = useResource("senders", () => senderIds.list({ usable: "true" }));
  const names = senders.data?.data.map(({ name }) => name) ?? [];
  const [form, setForm] = useState({ name: "", from: "", body: "", at: "", rate: "", budget: "" });
  const set = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const from = form.from || names[0] || "";
  const used = placeholders(form.body);
  const create = useAction(
    (key: string) =>
      campaigns.create(key, {
        name: form.name,
        from,
        body: form.body,
        send_at: toInstant(form.at) ?? null,
        rate_per_second: form.rate === "" ? null : Number(form.rate),
        budget_amount: form.budget === "" ? null : fourPlaces(form.budget),
      }),
    (made: Campaign) => route(`/console/campaigns/${made.id}`),
  );
  return (
    <>
      <PageTitle note="Next you add the recipients; nothing is sent before you start it.">
        New campaign
      </PageTitle>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void create.run();
        }}
      >
        <TextField
          label="Name"
          required
          value={form.name}
          onInput={set("name")}
          fault={faultOf(create.problem, "name")}
          hint="For you; recipients do not see it."
        />
        <SelectField
          label="Sender ID"
          value={from}
          options={names.map((name) => [name, name] as const)}
          onInput={set("from")}
          fault={faultOf(create.problem, "from")}
        />
        <BodyField
          value={form.body}
          onInput={set("body")}
          fault={faultOf(create.problem, "body")}
          hint={
            used.length === 0
              ? "{{first_name}} puts in the value of that column."
              : `Columns that the file needs: to, ${used.join(", ")}`
          }
        />
        <TextField
          label="Start at (optional)"
          type="datetime-local"
          value={form.at}
          onInput={set("at")}
          fault={faultOf(create.problem, "send_at")}
        />
        <TextField
          label="Messages per second, at most (optional)"
          inputMode="numeric"
          value={form.rate}
          onInput={set("rate")}
          fault={faultOf(create.problem, "rate_per_second")}
        />
        <TextField
          label="Budget, at most (optional)"
          inputMode="decimal"
          value={form.budget}
          onInput={set("budget")}
          fault={faultOf(create.problem, "budget_amount")}
          hint="The campaign pauses before it costs more."
        />
        <ProblemBox problem={create.problem} />
        <div class="actions">
          <button type="submit" class="primary" disabled={create.isBusy || names.length === 0}>
            {create.isBusy ? "Making…" : "Make the draft"}
          </button>
        </div>
      </form>
    </>
  );
}
