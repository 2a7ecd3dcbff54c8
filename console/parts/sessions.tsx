import type { ListedSession } from "../api/types.ts";
import { useResource } from "../core/use-resource.ts";
import { Loading, PageTitle, ProblemBox, Status, Time } from "./common-parts.tsx";
import { ConfirmButton } from "./confirm.tsx";
import { Table } from "./table.tsx";

/** Where the person is signed in. */
export function SessionsPage({
  list: load,
  end,
}: {
  readonly list: () => Promise<readonly ListedSession[]>;
  readonly end: (id: string) => Promise<unknown>;
}) {
  const list = useResource("sessions", () => load(), 15_000);
  return (
    <>
      <PageTitle note="A session ends after 12 hours, or after an hour without use.">
        Your sessions
      </PageTitle>
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {list.data !== undefined && (
        <Table
          caption="Your sessions"
          rows={list.data}
          keyOf={({ id }) => id}
          columns={[
            { heading: "Signed in", cell: (row) => <Time at={row.created_at} /> },
            { heading: "Last seen", cell: (row) => <Time at={row.last_seen_at} isAge /> },
            { heading: "Address", cell: (row) => row.address },
            {
              heading: "Browser",
              isMinor: true,
              cell: (row) => <span class="excerpt">{row.user_agent}</span>,
            },
            {
              heading: "Change",
              cell: (row) =>
                row.current ? (
                  <Status value="this one" />
                ) : (
                  <ConfirmButton
                    label="End"
                    title="End this session?"
                    act={() => end(row.id)}
                    onDone={list.reload}
                  >
                    That browser is signed out within five seconds.
                  </ConfirmButton>
                ),
            },
          ]}
        />
      )}
    </>
  );
}
