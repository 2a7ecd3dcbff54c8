import { useState } from "preact/hooks";
import { account } from "../api/console.ts";
import type { Account } from "../api/types.ts";
import { fourPlaces, showAmount } from "../core/money.ts";
import { useAction } from "../core/use-action.ts";
import { useResource } from "../core/use-resource.ts";
import { Facts, Loading, PageTitle, ProblemBox, Status, Time } from "../parts/common-parts.tsx";
import { faultOf, SelectField, TextField } from "../parts/form.tsx";

/** The settings of the account that an owner may change. */
export function AccountPage() {
  const found = useResource("account", () => account.get());
  return (
    <>
      <PageTitle>Settings</PageTitle>
      <ProblemBox problem={found.problem} />
      {found.isLoading && <Loading />}
      {found.data !== undefined && <Settings account={found.data} reload={found.reload} />}
    </>
  );
}

function Settings({
  account: own,
  reload,
}: {
  readonly account: Account;
  readonly reload: () => void;
}) {
  const [threshold, setThreshold] = useState(
    showAmount(own.low_balance_threshold ?? "0").replaceAll(",", ""),
  );
  const [isRedacted, setRedacted] = useState(own.redact_bodies);
  const [quietHours, setQuietHours] = useState(own.quiet_hours);
  const [isSaved, setSaved] = useState(false);
  const save = useAction(
    () =>
      account.change({
        low_balance_threshold: fourPlaces(threshold),
        redact_bodies: isRedacted,
        quiet_hours: quietHours,
      }),
    () => {
      setSaved(true);
      reload();
    },
  );
  return (
    <>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void save.run();
        }}
      >
        <TextField
          label={`Warn when less is available (${own.currency})`}
          inputMode="decimal"
          value={threshold}
          onInput={setThreshold}
          fault={faultOf(save.problem, "low_balance_threshold")}
          hint="Your systems get the event wallet.low_balance."
        />
        <label class="choice">
          <input
            type="checkbox"
            checked={isRedacted}
            onChange={(event) => setRedacted(event.currentTarget.checked)}
          />{" "}
          Remove the texts of messages after their final status
        </label>
        <SelectField
          label="Promotional messages in quiet hours"
          value={quietHours}
          options={[
            ["hold", "wait for the morning"],
            ["reject", "are refused"],
          ]}
          onInput={setQuietHours}
        />
        <ProblemBox problem={save.problem} />
        <div class="actions">
          <button type="submit" class="primary" disabled={save.isBusy}>
            {save.isBusy ? "Saving…" : "Save"}
          </button>
          {isSaved && !save.isBusy && <span role="status">Saved.</span>}
        </div>
      </form>
      <h2>About the account</h2>
      <Facts
        rows={[
          ["Name", own.name],
          ["Id", own.id],
          ["Status", <Status key="s" value={own.status} />],
          ["Requests per second", own.requests_per_second],
          ["Recipients of one request", own.bulk_recipients_max],
          ["Since", <Time key="c" at={own.created_at} />],
        ]}
      />
    </>
  );
}
