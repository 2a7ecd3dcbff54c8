import { useState } from "preact/hooks";
import { usage } from "../api/console.ts";
import type { UsageGroup } from "../api/types.ts";
import { showMoney } from "../core/money.ts";
import { daysAgo, showTime } from "../core/time.ts";
import { useCampaignNames } from "../core/use-campaign-names.ts";
import { useResource } from "../core/use-resource.ts";
import { CampaignLink } from "../parts/campaign-link.tsx";
import { Empty, Figure, Loading, PageTitle, ProblemBox, Time } from "../parts/common-parts.tsx";
import { SelectField } from "../parts/form.tsx";
import { Table } from "../parts/table.tsx";

const GROUPS = [
  ["day", "Day"],
  ["hour", "Hour"],
  ["status", "Status"],
  ["country", "Country"],
  ["sender_id", "Sender ID"],
  ["key", "API key"],
  ["campaign", "Campaign"],
] as const;
const PERIODS = [
  ["1", "24 hours"],
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
] as const;

/** Counts and costs of sent messages, by one of several views. */
export function UsagePage() {
  const [group, setGroup] = useState("day");
  const [days, setDays] = useState("7");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const found = useResource(
    `usage ${group} ${days}`,
    () =>
      usage.get({
        group_by: group,
        created_after: daysAgo(Number(days)),
        time_zone: zone,
      }),
    60_000,
  );
  const campaigns = useCampaignNames(group === "campaign");
  const most = Math.max(1, ...(found.data?.groups ?? []).map(({ messages }) => messages));
  const heading = GROUPS.find(([name]) => name === group)?.[1] ?? group;
  return (
    <>
      <PageTitle note={`Days begin at midnight in ${zone}.`}>Usage</PageTitle>
      <div class="filter">
        <SelectField label="By" value={group} options={GROUPS} onInput={setGroup} />
        <SelectField label="Of the last" value={days} options={PERIODS} onInput={setDays} />
      </div>
      <ProblemBox problem={found.problem} />
      {found.isLoading && <Loading />}
      {found.data !== undefined && (
        <>
          <div class="figures">
            <Figure label="Messages" value={found.data.total.messages.toLocaleString()} />
            <Figure label="Parts" value={found.data.total.segments.toLocaleString()} />
            <Figure label="Cost" value={showMoney(found.data.total.amount, found.data.currency)} />
          </div>
          {found.data.groups.length === 0 ? (
            <Empty title="Nothing was sent in this time." />
          ) : (
            <Table
              caption={`Usage by ${heading}`}
              rows={found.data.groups}
              keyOf={nameOf}
              columns={[
                {
                  heading,
                  cell: (row) =>
                    typeof row.campaign_id === "string" ? (
                      <CampaignLink id={row.campaign_id} names={campaigns} />
                    ) : (
                      nameOf(row)
                    ),
                },
                {
                  heading: "Messages",
                  cell: (row) => (
                    <span class="measure">
                      <meter min={0} max={most} value={row.messages} aria-hidden="true" />
                      {row.messages.toLocaleString()}
                    </span>
                  ),
                },
                { heading: "Parts", isNumber: true, cell: (row) => row.segments.toLocaleString() },
                {
                  heading: "Cost",
                  isNumber: true,
                  cell: (row) => showMoney(row.amount, found.data?.currency ?? ""),
                },
              ]}
            />
          )}
          <p class="muted">
            Counted until <Time at={found.data.as_of} />.
          </p>
        </>
      )}
    </>
  );
}

function nameOf(row: UsageGroup): string {
  return (
    row.day ??
    (row.hour === undefined ? undefined : showTime(row.hour)) ??
    row.status ??
    row.country ??
    row.sender_id ??
    row.api_key_id ??
    row.campaign_id ??
    "none"
  );
}
