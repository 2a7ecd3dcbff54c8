import { useState } from "preact/hooks";
import { people, secondFactor } from "../api/console.ts";
import type { Person, RoleName } from "../api/types.ts";
import { useAction } from "../core/use-action.ts";
import { useResource } from "../core/use-resource.ts";
import { Loading, PageTitle, ProblemBox, Status, Time } from "../parts/common-parts.tsx";
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

/** The people of the account, with their roles. */
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
        <PeopleTable
          people={list.data}
          isBusy={change.isBusy}
          change={(id, next) => void change.run(id, next)}
          reload={list.reload}
        />
      )}
    </>
  );
}

function PeopleTable({
  people: rows,
  isBusy,
  change,
  reload,
}: {
  readonly people: readonly Person[];
  readonly isBusy: boolean;
  readonly change: (id: string, role: RoleName) => void;
  readonly reload: () => void;
}) {
  return (
    <Table
      caption="People"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { heading: "E-mail", cell: (row) => row.email },
        {
          heading: "Role",
          cell: (row) => (
            <select
              aria-label={`Role of ${row.email}`}
              value={row.role}
              disabled={isBusy}
              onChange={(event) => change(row.id, event.currentTarget.value as RoleName)}
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
          heading: "Second factor",
          cell: (row) =>
            row.second_factor ? (
              <>
                on{" "}
                <ConfirmButton
                  label="Reset"
                  title={`Turn off the second factor of ${row.email}?`}
                  act={() => secondFactor.reset(row.id)}
                  onDone={reload}
                >
                  Do this for a person who lost the phone. Until they turn it on again, a link by
                  e-mail is enough to sign in.
                </ConfirmButton>
              </>
            ) : (
              "off"
            ),
        },
        {
          heading: "Change",
          cell: (row) => (
            <ConfirmButton
              label="Remove"
              title={`Remove ${row.email}?`}
              act={() => people.remove(row.id)}
              onDone={reload}
            >
              The person is signed out within five seconds.
            </ConfirmButton>
          ),
        },
      ]}
    />
  );
}
