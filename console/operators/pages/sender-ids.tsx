import { useCallback, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useAction } from "../../core/use-action.ts";
import { usePages } from "../../core/use-pages.ts";
import { Empty, PageTitle, ProblemBox, Status } from "../../parts/common-parts.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { faultOf, SelectField, TextField } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { rpc } from "../api/rpc.ts";
import type { SenderId } from "../api/types.ts";
import { word } from "../core/protobuf-json.ts";
import { useMay } from "../core/session-context.ts";
import { withTenantNames } from "../core/tenant-names.ts";
import { At, TenantLink, Waiting } from "../parts/common-parts.tsx";

const STATUSES = ["pending", "approved", "rejected", "suspended"] as const;
const CLASSES = ["otp", "transactional", "promotional"] as const;

type Row = SenderId & { readonly tenantName: string };

/** The names of all tenants that wait for a review, and on demand the others. */
export function SenderIdsPage() {
  const { query, route } = useLocation();
  const status = query.status ?? "pending";
  const mayReview = useMay("SenderIdService/ReviewSenderId");
  const load = useCallback((cursor?: string) => listSenderIds(status, cursor), [status]);
  const list = usePages(`sender-ids ${status}`, load, 10_000);
  const [reviewed, setReviewed] = useState<Row>();
  return (
    <>
      <PageTitle note="The names that messages show. The oldest request is first.">
        Sender IDs
      </PageTitle>
      <div class="filter">
        <SelectField
          label="Status"
          value={status}
          options={[...STATUSES.map((one) => [one, one] as const), ["", "any"]]}
          onInput={(value) => route(`/operators/sender-ids?status=${value}`)}
        />
      </div>
      <Waiting of={list} />
      {!list.isLoading && list.rows.length === 0 && list.problem === undefined && (
        <Empty title={status === "pending" ? "No name waits for a review." : "None."} />
      )}
      {list.rows.length > 0 && (
        <Table
          caption="Sender IDs"
          rows={list.rows}
          keyOf={({ id }) => id}
          {...list.more}
          columns={[
            { heading: "Name", cell: (row) => <strong>{row.name}</strong> },
            {
              heading: "Tenant",
              cell: (row) => <TenantLink id={row.tenantId} name={row.tenantName} />,
            },
            { heading: "For", cell: (row) => row.useCase || "–" },
            { heading: "Sample", cell: (row) => row.sample || "–", isMinor: true },
            { heading: "Status", cell: (row) => <Status value={statusOf(row)} /> },
            { heading: "Changed", cell: (row) => <At ms={row.updatedAtMs} isAge />, isMinor: true },
            ...(mayReview
              ? [
                  {
                    heading: "Review",
                    cell: (row: Row) => (
                      <button type="button" onClick={() => setReviewed(row)}>
                        Review
                      </button>
                    ),
                  },
                ]
              : []),
          ]}
        />
      )}
      {reviewed !== undefined && (
        <Review
          senderId={reviewed}
          onClose={() => setReviewed(undefined)}
          onDone={() => {
            setReviewed(undefined);
            list.reload();
          }}
        />
      )}
    </>
  );
}

/** The reviews that each status permits. */
const MOVES: Readonly<Record<string, readonly ("approve" | "reject" | "suspend" | "reinstate")[]>> =
  {
    pending: ["approve", "reject"],
    approved: ["suspend"],
    suspended: ["reinstate"],
    rejected: [],
  };

function Review({
  senderId,
  onClose,
  onDone,
}: {
  readonly senderId: Row;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [trafficClass, setClass] = useState(word(senderId.trafficClass, "TRAFFIC_CLASS"));
  const [reason, setReason] = useState("");
  const act = useAction(
    (_key: string, review: string) =>
      rpc("SenderIdService/ReviewSenderId", {
        ...{ tenantId: senderId.tenantId, idOrName: senderId.id, reason },
        review: `SENDER_ID_REVIEW_${review.toUpperCase()}`,
        ...(review === "approve"
          ? { trafficClass: `TRAFFIC_CLASS_${trafficClass.toUpperCase()}` }
          : {}),
      }),
    onDone,
  );
  const moves = MOVES[statusOf(senderId)] ?? [];
  return (
    <Dialog title={`${senderId.name} of ${senderId.tenantName}`} onClose={onClose}>
      <p>
        <span class="muted">For:</span> {senderId.useCase || "an operator registered it"}
      </p>
      {senderId.sample !== "" && <p class="body card">{senderId.sample}</p>}
      {moves.includes("approve") && (
        <SelectField
          label="Class of its messages"
          value={trafficClass}
          options={CLASSES.map((one) => [one, one] as const)}
          onInput={setClass}
          hint="Opt-outs and quiet hours depend on it."
        />
      )}
      {moves.includes("reject") && (
        <TextField
          label="Reason of a rejection"
          value={reason}
          onInput={setReason}
          fault={faultOf(act.problem, "reason")}
          hint="The customer reads it."
        />
      )}
      {moves.length === 0 && <p>The customer may ask for it again.</p>}
      <ProblemBox problem={act.problem} />
      <div class="actions">
        {moves.map((move) => (
          <button
            key={move}
            type="button"
            class={move === "approve" || move === "reinstate" ? "primary" : "danger"}
            disabled={act.isBusy}
            onClick={() => void act.run(move)}
          >
            {`${move.charAt(0).toUpperCase()}${move.slice(1)}`}
          </button>
        ))}
      </div>
    </Dialog>
  );
}

function statusOf({ status }: SenderId): string {
  return word(status, "SENDER_ID_STATUS");
}

async function listSenderIds(status: string, cursor = "") {
  const statuses = status === "" ? [] : [`SENDER_ID_STATUS_${status.toUpperCase()}`];
  const page = await rpc<{ senderIds: SenderId[]; nextCursor: string }>(
    "SenderIdService/ListAllSenderIds",
    { statuses, cursor, limit: 50 },
  );
  return withTenantNames(page.senderIds, page.nextCursor);
}
