import { useState } from "preact/hooks";
import { usage } from "../api/console.ts";
import { fromUnits, showMoney } from "../core/money.ts";
import { zoneMinutesMs } from "../core/time.ts";
import {
  lastDays,
  lastHours,
  seriesOf,
  shareText,
  sumOf,
  type UsagePoint,
} from "../core/usage-series.ts";
import { useResource } from "../core/use-resource.ts";
import { type Bar, BarChart } from "./bar-chart.tsx";
import { Loading, ProblemBox, Time } from "./common-parts.tsx";
import { Table } from "./table.tsx";

const PERIODS = [
  ["24", "24 hours"],
  ["7", "7 days"],
  ["30", "30 days"],
] as const;
type Period = (typeof PERIODS)[number][0];

const POLL_MS = 60_000;

/** Sends, the delivered share and the cost over a period, as pictures and as a table. */
export function UsageCharts() {
  const [period, setPeriod] = useState<Period>("24");
  const found = useResource(`charts ${period}`, () => load(period), POLL_MS);
  return (
    <section aria-labelledby="charts">
      <div class="row">
        <h2 id="charts">What was sent</h2>
        <fieldset class="mode">
          <legend class="hidden">Period</legend>
          {PERIODS.map(([value, text]) => (
            <label key={value}>
              <input
                type="radio"
                name="period"
                checked={value === period}
                onChange={() => setPeriod(value)}
              />
              {text}
            </label>
          ))}
        </fieldset>
      </div>
      <ProblemBox problem={found.problem} />
      {found.isLoading && <Loading />}
      {found.data !== undefined && <Charts {...found.data} />}
    </section>
  );
}

type Loaded = {
  readonly points: readonly UsagePoint[];
  readonly currency: string;
  readonly asOf: string;
  readonly isHourly: boolean;
};

async function load(period: Period): Promise<Loaded> {
  const isHourly = period === "24";
  const keys = isHourly
    ? lastHours(Date.now(), zoneMinutesMs())
    : lastDays(Number(period), new Date());
  const [first = ""] = keys;
  const start = isHourly ? first : new Date(`${first}T00:00:00`).toISOString();
  const { groups, currency, as_of } = await usage.get({
    group_by: isHourly ? "hour,status" : "day,status",
    created_after: start,
    time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  });
  return { points: seriesOf(keys, groups), currency, asOf: as_of, isHourly };
}

const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, {
  weekday: "short",
  day: "numeric",
  month: "short",
});

function labelOf(key: string, isHourly: boolean): string {
  return isHourly ? HOUR.format(new Date(key)) : DAY.format(new Date(`${key}T12:00:00`));
}

function Charts({ points, currency, asOf, isHourly }: Loaded) {
  const total = sumOf(points);
  const money = (units: bigint) => showMoney(fromUnits(units), currency);
  const bars = (height: (point: UsagePoint) => number, text: (point: UsagePoint) => string) =>
    points.map((point): Bar => {
      const label = labelOf(point.key, isHourly);
      return { key: point.key, label, height: height(point), text: text(point) };
    });
  const most = Math.max(1, ...points.map(({ messages }) => messages));
  // `Math.max` takes no big integers.
  const [dearest = 1n] = [1n, ...points.map(({ units }) => units)].sort((a, b) => (a < b ? 1 : -1));
  return (
    <>
      <div class="charts">
        <BarChart
          title="Messages"
          summary={total.messages.toLocaleString()}
          highest={total.messages === 0 ? "" : most.toLocaleString()}
          bars={bars(
            ({ messages }) => messages / most,
            ({ messages }) => messages.toLocaleString(),
          )}
        />
        <BarChart
          title="Delivered, of those that ended"
          summary={shareText(total)}
          highest="100 %"
          bars={bars(({ delivered, ended }) => (ended === 0 ? 0 : delivered / ended), shareText)}
        />
        <BarChart
          title="Cost"
          summary={money(total.units)}
          highest={total.units === 0n ? "" : money(dearest)}
          bars={bars(
            // A share of two amounts, for the height alone.
            ({ units }) => Number((units * 1000n) / dearest) / 1000,
            ({ units }) => money(units),
          )}
        />
      </div>
      <details>
        <summary>The values as a table</summary>
        <Table
          caption="What was sent"
          rows={points.toReversed()}
          keyOf={({ key }) => key}
          columns={[
            {
              heading: isHourly ? "Hour" : "Day",
              cell: ({ key }) => (isHourly ? <Time at={key} /> : labelOf(key, false)),
            },
            {
              heading: "Messages",
              isNumber: true,
              cell: ({ messages }) => messages.toLocaleString(),
            },
            { heading: "Delivered", isNumber: true, cell: shareText },
            { heading: "Cost", isNumber: true, cell: ({ units }) => money(units) },
          ]}
        />
      </details>
      <p class="muted">
        Counted until <Time at={asOf} />. More views are in <a href="/console/usage">Usage</a>.
      </p>
    </>
  );
}
