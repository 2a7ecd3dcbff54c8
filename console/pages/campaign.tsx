import { useCallback, useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { campaigns } from "../api/console.ts";
import type { Campaign, CampaignEstimate, CampaignRecipient } from "../api/types.ts";
import { showMoney, toUnits } from "../core/money.ts";
import { pauseText } from "../core/pause-text.ts";
import { useCan } from "../core/session-context.ts";
import { useAction } from "../core/use-action.ts";
import { usePages } from "../core/use-pages.ts";
import { useResource } from "../core/use-resource.ts";
import { CampaignFile } from "../parts/campaign-file.tsx";
import {
  Copy,
  Empty,
  Facts,
  Figure,
  Loading,
  PageTitle,
  ProblemBox,
  Status,
  Time,
} from "../parts/common-parts.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { SelectField } from "../parts/form.tsx";
import { PauseButton } from "../parts/pause-button.tsx";
import { Table } from "../parts/table.tsx";

const OPEN: ReadonlySet<string> = new Set(["draft", "scheduled", "running", "paused"]);

/** One campaign: its recipients, what it will cost, how far it is, and its controls. */
export function CampaignPage() {
  const id = useRoute().params.id ?? "";
  const found = useResource(`campaign ${id}`, () => campaigns.get(id), 2000);
  const campaign = found.data;
  if (campaign === undefined) {
    return (
      <>
        <PageTitle>Campaign</PageTitle>
        {found.isLoading ? <Loading /> : <ProblemBox problem={found.problem} />}
      </>
    );
  }
  return (
    <>
      <PageTitle
        note={<Copy text={campaign.id} label="the id" />}
        actions={<Controls campaign={campaign} reload={found.reload} />}
      >
        {campaign.name}
      </PageTitle>
      {campaign.pause_reason !== null && (
        <p class="banner">Paused: {pauseText(campaign.pause_reason)}</p>
      )}
      <ProblemBox problem={found.problem} />
      {campaign.status === "draft" ? (
        <Draft campaign={campaign} reload={found.reload} />
      ) : (
        <Progress campaign={campaign} />
      )}
      <section aria-labelledby="content-of">
        <h2 id="content-of">What is sent</h2>
        <Facts
          rows={[
            ["Status", <Status key="s" value={campaign.status} />],
            ["From", campaign.from],
            [
              "Text",
              <span key="t" class="body">
                {campaign.body}
              </span>,
            ],
            [
              "Start",
              campaign.send_at === null ? (
                "when it is started"
              ) : (
                <Time key="a" at={campaign.send_at} />
              ),
            ],
            [
              "Rate",
              campaign.rate_per_second === null
                ? "as fast as the carrier"
                : `${campaign.rate_per_second} a second`,
            ],
            [
              "Budget",
              campaign.budget_amount === null
                ? "none"
                : showMoney(campaign.budget_amount, campaign.currency),
            ],
            ["Started", <Time key="b" at={campaign.started_at} />],
            ["Ended", <Time key="e" at={campaign.completed_at} />],
          ]}
        />
      </section>
      <Recipients campaign={campaign} />
    </>
  );
}

function Controls({
  campaign,
  reload,
}: {
  readonly campaign: Campaign;
  readonly reload: () => void;
}) {
  const canManage = useCan("campaigns:manage");
  const { route } = useLocation();
  const { id, status } = campaign;
  if (!canManage || !OPEN.has(status)) return null;
  return (
    <>
      <PauseButton campaign={campaign} reload={reload} />
      {status === "draft" ? (
        <ConfirmButton
          label="Delete the draft"
          title="Delete this draft?"
          act={() => campaigns.remove(id)}
          onDone={() => route("/console/campaigns")}
        >
          The draft and its recipients are removed.
        </ConfirmButton>
      ) : (
        <ConfirmButton
          label="Cancel the campaign"
          title="Stop this campaign for good?"
          act={(key) => campaigns.act(key, id, "cancel")}
          onDone={reload}
        >
          Nothing more is sent, and the money that is held returns. To go on later, pause it
          instead.
        </ConfirmButton>
      )}
    </>
  );
}

/** Recipients, estimate and start. */
function Draft({ campaign, reload }: { readonly campaign: Campaign; readonly reload: () => void }) {
  const canManage = useCan("campaigns:manage");
  const [estimate, setEstimate] = useState<CampaignEstimate>();
  const count = useAction((key: string) => campaigns.estimate(key, campaign.id), setEstimate);
  if (!canManage) return null;
  const isCovered =
    estimate !== undefined && toUnits(estimate.amount) <= toUnits(estimate.available_amount);
  return (
    <>
      <section aria-labelledby="add">
        <h2 id="add">1. Recipients</h2>
        <p>{campaign.progress.total.toLocaleString()} so far.</p>
        <CampaignFile
          campaign={campaign}
          onDone={() => {
            setEstimate(undefined);
            reload();
          }}
        />
      </section>
      <section aria-labelledby="cost">
        <h2 id="cost">2. What it costs</h2>
        <button
          type="button"
          disabled={count.isBusy || campaign.progress.total === 0}
          onClick={() => void count.run()}
        >
          {count.isBusy ? "Counting…" : "Estimate"}
        </button>
        <ProblemBox problem={count.problem} />
        {estimate !== undefined && (
          <>
            <div class="figures">
              <Figure
                label="Recipients"
                value={estimate.recipients.toLocaleString()}
                note={`${estimate.rejected.toLocaleString()} refused`}
              />
              <Figure label="Parts" value={estimate.segments.toLocaleString()} />
              <Figure
                label="Costs at most"
                value={showMoney(estimate.amount, estimate.currency)}
                note={`${showMoney(estimate.available_amount, estimate.currency)} available`}
              />
            </div>
            {!isCovered && (
              <p class="banner bad">The balance does not cover it. Fund the account first.</p>
            )}
          </>
        )}
      </section>
      <section aria-labelledby="start">
        <h2 id="start">3. Start</h2>
        <ConfirmButton
          label="Start the campaign"
          title={`Send to ${campaign.progress.total.toLocaleString()} recipients?`}
          act={(key) => campaigns.act(key, campaign.id, "start")}
          onDone={reload}
          isDangerous={false}
        >
          {campaign.send_at === null
            ? "It starts at once. You can pause it at any time."
            : "It starts at its time. You can pause it before."}
        </ConfirmButton>
      </section>
    </>
  );
}

const COUNTS = [
  ["delivered", "good"],
  ["sent", "busy"],
  ["queued", "busy"],
  ["waiting", "plain"],
  ["undelivered", "bad"],
  ["expired", "bad"],
  ["failed", "bad"],
  ["rejected", "bad"],
  ["cancelled", "plain"],
] as const;

function Progress({ campaign }: { readonly campaign: Campaign }) {
  const { progress, currency } = campaign;
  const { total } = progress;
  const hasStatement = useCan("wallet:read");
  const done = total - progress.waiting - progress.queued;
  return (
    <section aria-labelledby="progress">
      <h2 id="progress">Progress</h2>
      <div
        class="bar"
        role="progressbar"
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
        aria-label={`${done} of ${total} recipients are done`}
      >
        {COUNTS.map(([name, tone]) =>
          progress[name] === 0 ? null : (
            <span
              key={name}
              class={tone}
              style={{ flexGrow: String(progress[name]) }}
              title={`${progress[name].toLocaleString()} ${name}`}
            />
          ),
        )}
      </div>
      <div class="figures">
        {COUNTS.filter(([name]) => progress[name] > 0).map(([name]) => (
          <Figure key={name} label={name} value={progress[name].toLocaleString()} />
        ))}
        <Figure
          label="Charged"
          value={showMoney(progress.charged_amount, currency)}
          note={
            hasStatement && <a href={`/console/statement?campaign_id=${campaign.id}`}>statement</a>
          }
        />
        <Figure label="Held" value={showMoney(progress.held_amount, currency)} />
      </div>
    </section>
  );
}

const ROW_STATUSES = [
  "",
  "waiting",
  "queued",
  "sent",
  "delivered",
  "undelivered",
  "expired",
  "rejected",
  "failed",
  "cancelled",
];

function Recipients({ campaign }: { readonly campaign: Campaign }) {
  const [status, setStatus] = useState("");
  const { id } = campaign;
  const load = useCallback(
    (cursor?: string) => campaigns.recipients(id, status === "" ? {} : { status }, cursor),
    [id, status],
  );
  const list = usePages(
    `recipients ${id} ${status} ${campaign.progress.total}`,
    load,
    10_000,
    indexOf,
  );
  return (
    <section aria-labelledby="recipients">
      <h2 id="recipients">Recipients</h2>
      <SelectField
        label="Status"
        value={status}
        options={ROW_STATUSES.map((one) => [one, one === "" ? "any" : one] as const)}
        onInput={setStatus}
      />
      <ProblemBox problem={list.problem} />
      {list.isLoading && <Loading />}
      {!list.isLoading && list.rows.length === 0 && <Empty title="None." />}
      {list.rows.length > 0 && (
        <Table
          caption="Recipients"
          rows={list.rows}
          keyOf={indexOf}
          {...list.more}
          columns={[
            {
              heading: "Number",
              cell: (row) =>
                row.message_id === null ? (
                  row.to
                ) : (
                  <a href={`/console/messages/${row.message_id}`}>{row.to}</a>
                ),
            },
            { heading: "Status", cell: (row) => <Status value={row.status} /> },
            { heading: "Why", cell: (row) => row.error?.message ?? "" },
          ]}
        />
      )}
    </section>
  );
}

function indexOf({ index }: CampaignRecipient): string {
  return String(index);
}
