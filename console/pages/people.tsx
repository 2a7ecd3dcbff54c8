import { useState } from "preact/hooks";
import { people } from "../api/console.ts";
import type { RoleName } from "../api/types.ts";
import { useAction } from "../core/use-action.ts";
import { useResource } from "../core/use-resource.ts";
import { Loading, PageTitle, ProblemBox, Status, Time } from "../parts/basics.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { faultOf, SelectField, TextField } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";

const ROLES: readonly (readonly [RoleName, string])[] = [
  ["owner", "Owner: everything, also people"],
  ["developer", "Developer: sends, keys, webhooks"],
  ["sender", "Sender: messages and campaigns"],
  ["finance", "Finance: balance and statements"],
  ["viewer", "Viewer: reads"],
];

/** Who may sign in to this account, and as what. */
export function PeoplePage() {
  const list = useResource("people", () => people.list(), 15_000);
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<RoleName>("viewer");
  const invite = useAction(
    () => people.invite(email, role),
    () => {
      setEmail("");
      list.reload();
    },
  );
  const change = useAction(
    (_key: string, id: string, next: RoleName) => people.changeRole(id, next),
    list.reload,
  );
  return (
    <>
      <PageTitle note="Who may sign in, and what they may do.">People</PageTitle>
      <form
        class="filter card"
        onSubmit={(event) => {
          event.preventDefault();
          void invite.run();
        }}
      >
        <TextField
          label="Invite by e-mail"
          type="email"
          required
          value={email}
          onInput={setEmail}
          fault={faultOf(invite.problem, "email")}
        />
        <SelectField
          label="Role"
          value={role}
          options={ROLES}
          onInput={(value) => setRole(value as RoleName)}
        />
        <div class="actions">
          <button type="submit" class="primary" disabled={invite.isBusy}>
            {invite.isBusy ? "Inviting…" : "Invite"}
          </button>
        </div>
      </form>
      <ProblemBox problem={invite.problem ?? change.problem ?? list.problem} />
      {list.isLoading && <Loading />}
      {list.data !== undefined && list.data.length > 0 && (
        <Table
          caption="People"
          rows={list.data}
          keyOf={({ id }) => id}
          columns={[
            { heading: "E-mail", cell: (row) => row.email },
            {
              heading: "Role",
              cell: (row) => (
                <select
                  aria-label={`Role of ${row.email}`}
                  value={row.role}
                  disabled={change.isBusy}
                  onChange={(event) =>
                    void change.run(row.id, event.currentTarget.value as RoleName)
                  }
                >
                  {ROLES.map(([name]) => (
                    <option key={name} value={name}>
                      {name}
                    </option>
                  ))}
                </select>
              ),
            },
            {
              heading: "Joined",
              cell: (row) =>
                row.joined_at === null ? <Status value="invited" /> : <Time at={row.joined_at} />,
            },
            {
              heading: "Change",
              cell: (row) => (
                <ConfirmButton
                  label="Remove"
                  title={`Remove ${row.email}?`}
                  act={() => people.remove(row.id)}
                  onDone={list.reload}
                >
                  The person is signed out within five seconds.
                </ConfirmButton>
              ),
            },
          ]}
        />
      )}
    </>
  );
}
