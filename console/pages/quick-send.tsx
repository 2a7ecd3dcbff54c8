import { useState } from "preact/hooks";
import { messages, senderIds, wallet } from "../api/console.ts";
import type { SendResult } from "../api/types.ts";
import { showMoney } from "../core/money.ts";
import { useSession } from "../core/session-context.ts";
import { toInstant } from "../core/time.ts";
import { useAction } from "../core/use-action.ts";
import { useResource } from "../core/use-resource.ts";
import { BodyField } from "../parts/body-field.tsx";
import { Empty, Loading, PageTitle, ProblemBox, Status } from "../parts/common-parts.tsx";
import { Field, faultOf, SelectField, TextField } from "../parts/form.tsx";
import { Price } from "../parts/price.tsx";
import { Table } from "../parts/table.tsx";

/** Sends a text to some numbers. */
export function QuickSendPage() {
  const { tenant } = useSession();
  const senders = useResource("senders", () => senderIds.list({ usable: "true" }));
  const balance = useResource("balance", () => wallet.balance(), 30_000);
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [body, setBody] = useState("");
  const [at, setAt] = useState("");
  const [result, setResult] = useState<SendResult>();
  const numbers = to.split(/[\s,;]+/).filter((one) => one !== "");
  const names = senders.data?.data.map(({ name }) => name) ?? [];
  const chosen = from || names[0] || "";
  const send = useAction(
    (key: string) => {
      const sendAt = toInstant(at);
      return messages.send(key, {
        to: numbers,
        from: chosen,
        body,
        ...(sendAt === undefined ? {} : { send_at: sendAt }),
      });
    },
    (done: SendResult) => setResult(done),
  );

  if (senders.isLoading) return <Loading />;
  if (names.length === 0) return <NoSender />;
  if (result !== undefined) return <Sent result={result} onAgain={() => setResult(undefined)} />;
  return (
    <>
      <PageTitle
        note={
          balance.data && `${showMoney(balance.data.available, balance.data.currency)} available`
        }
      >
        Quick send
      </PageTitle>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void send.run();
        }}
      >
        <SelectField
          label="Sender ID"
          value={chosen}
          options={names.map((name) => [name, name] as const)}
          onInput={setFrom}
          fault={faultOf(send.problem, "from")}
        />
        <Field
          label="Numbers"
          fault={faultOf(send.problem, "to")}
          hint={`${numbers.length} of at most ${tenant.bulk_max}; separated by spaces, commas or lines`}
        >
          {(ids) => (
            <textarea
              {...ids}
              rows={3}
              required
              inputMode="tel"
              value={to}
              onInput={(event) => setTo(event.currentTarget.value)}
            />
          )}
        </Field>
        <BodyField value={body} onInput={setBody} fault={faultOf(send.problem, "body")} />
        <TextField
          label="Send at (optional)"
          type="datetime-local"
          value={at}
          onInput={setAt}
          fault={faultOf(send.problem, "send_at")}
          hint="In your time zone; empty sends now."
        />
        <Price from={chosen} numbers={numbers} body={body} />
        <ProblemBox problem={send.problem} />
        <div class="actions">
          <button type="submit" class="primary" disabled={send.isBusy}>
            {send.isBusy ? "Sending…" : at === "" ? "Send" : "Schedule"}
          </button>
        </div>
      </form>
    </>
  );
}

/** The result for each number. */
function Sent({ result, onAgain }: { readonly result: SendResult; readonly onAgain: () => void }) {
  return (
    <>
      <PageTitle
        actions={
          <button type="button" class="primary" onClick={onAgain}>
            Send another
          </button>
        }
        note={`${showMoney(result.held_amount, result.currency)} are held until they are sent.`}
      >
        {`${result.accepted} accepted, ${result.rejected} refused`}
      </PageTitle>
      <Table
        caption="Recipients"
        rows={result.messages}
        keyOf={({ id }) => id}
        columns={[
          {
            heading: "Number",
            cell: (row) => <a href={`/console/messages/${row.id}`}>{row.to ?? row.input}</a>,
          },
          { heading: "Status", cell: (row) => <Status value={row.status} /> },
          { heading: "Why", cell: (row) => row.error?.message ?? "" },
        ]}
      />
    </>
  );
}

function NoSender() {
  return (
    <>
      <PageTitle>Quick send</PageTitle>
      <Empty title="No sender ID can be used yet.">
        A message shows a name that your provider has approved.{" "}
        <a href="/console/sender-ids">See your sender IDs</a>
      </Empty>
    </>
  );
}
