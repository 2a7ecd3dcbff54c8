import { useCallback, useState } from "preact/hooks";
import { keys } from "../api/console.ts";
import { currentMode } from "../api/http.ts";
import type { ApiKey } from "../api/types.ts";
import { useSession } from "../core/session-context.ts";
import { toInstant } from "../core/time.ts";
import { useAction } from "../core/use-action.ts";
import { usePages } from "../core/use-pages.ts";
import {
  Copy,
  Empty,
  Loading,
  PageTitle,
  ProblemBox,
  Status,
  Time,
} from "../parts/common-parts.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { faultOf, TextField } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";

/** The keys of the account's own programs, of the present mode. */
export function KeysPage() {
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<ApiKey>();
  const load = useCallback((cursor?: string) => keys.list(cursor), []);
  const list = usePages("keys", load);
  return (
    <>
      <PageTitle
        note={`Keys of ${currentMode()} mode, for your own programs.`}
        actions={
          <button type="button" class="primary" onClick={() => setOpen(true)}>
            Make a key
          </button>
        }
      >
        API keys
      </PageTitle>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title="No key yet." />
      )}
      {list.rows.length > 0 && (
        <Table
          caption="API keys"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
          columns={[
            { heading: "Name", cell: (row) => row.name ?? row.id },
            { heading: "Ends in", cell: (row) => row.hint ?? "" },
            { heading: "Status", cell: (row) => <Status value={row.status} /> },
            { heading: "May", isMinor: true, cell: (row) => row.scopes.join(", ") },
            { heading: "Last used", cell: (row) => <Time at={row.last_used_at} isAge /> },
            { heading: "Until", cell: (row) => <Time at={row.expires_at} /> },
            {
              heading: "Change",
              cell: (row) =>
                row.status === "active" && (
                  <ConfirmButton
                    label="Revoke"
                    title={`Revoke ${row.name ?? row.id}?`}
                    act={() => keys.revoke(row.id)}
                    onDone={list.reload}
                  >
                    Programs with this key are refused within five seconds, for good.
                  </ConfirmButton>
                ),
            },
          ]}
        />
      )}
      {isOpen && (
        <NewKey
          onClose={() => setOpen(false)}
          onMade={(key) => {
            setOpen(false);
            setMade(key);
            list.reload();
          }}
        />
      )}
      {made !== undefined && (
        <Dialog title="The new key" onClose={() => setMade(undefined)}>
          <p>Copy it now: it is shown this once.</p>
          <Copy text={made.secret ?? ""} label="the key" />
        </Dialog>
      )}
    </>
  );
}

function NewKey({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (key: ApiKey) => void;
}) {
  // Scopes of sessions alone are none that a key can have.
  const offered = useSession().scopes.filter((one) => one !== "people:manage");
  const [name, setName] = useState("");
  const [until, setUntil] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>(["messages:send", "messages:read"]);
  const create = useAction(
    (key: string) =>
      keys.create(key, {
        scopes: offered.filter((one) => chosen.includes(one)),
        name: name === "" ? null : name,
        expires_at: toInstant(until) ?? null,
      }),
    onMade,
  );
  return (
    <Dialog title={`Make a key of ${currentMode()} mode`} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void create.run();
        }}
      >
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          fault={faultOf(create.problem, "name")}
          hint="Where it is used, for example the shop's server."
        />
        <fieldset class="choices">
          <legend>What it may do</legend>
          {offered.map((scope) => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={(event) =>
                  setChosen(
                    event.currentTarget.checked
                      ? [...chosen, scope]
                      : chosen.filter((one) => one !== scope),
                  )
                }
              />{" "}
              {scope}
            </label>
          ))}
        </fieldset>
        <TextField
          label="Until (optional)"
          type="datetime-local"
          value={until}
          onInput={setUntil}
          fault={faultOf(create.problem, "expires_at")}
        />
        <ProblemBox problem={create.problem} />
        <div class="actions">
          <button type="submit" class="primary" disabled={create.isBusy || chosen.length === 0}>
            {create.isBusy ? "Making…" : "Make the key"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
