/** One bar. */
export type Bar = {
  readonly key: string;
  /** The text of the axis and of the title. */
  readonly label: string;
  /** From 0 to 1, of the highest bar. */
  readonly height: number;
  /** The value in words. */
  readonly text: string;
};

const WIDTH = 300;
const HEIGHT = 80;
const GAP = 0.2;
/** The least height of a bar of a value above zero, so that it is visible. */
const LEAST = 1.5;

/**
 * Bars of one series. A table next to the picture has its values, so a screen reader reads only the summary of
 * the picture.
 */
export function BarChart({
  title,
  summary,
  bars,
  highest,
}: {
  readonly title: string;
  readonly summary: string;
  readonly bars: readonly Bar[];
  /** The value of the highest bar. */
  readonly highest: string;
}) {
  const step = WIDTH / Math.max(1, bars.length);
  return (
    <figure class="chart">
      <figcaption>
        <span class="muted">{title}</span>
        <strong>{summary}</strong>
      </figcaption>
      <span class="highest muted" aria-hidden="true">
        {highest}
      </span>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${summary}. The values are in the table below.`}
      >
        {bars.map(({ key, label, height, text }, at) => {
          const pixels = height === 0 ? 0 : Math.max(LEAST, height * HEIGHT);
          return (
            <g key={key}>
              <title>{`${label}: ${text}`}</title>
              <rect class="ground" x={at * step} y={0} width={step} height={HEIGHT} />
              <rect
                class="value"
                x={(at + GAP / 2) * step}
                y={HEIGHT - pixels}
                width={step * (1 - GAP)}
                height={pixels}
              />
            </g>
          );
        })}
      </svg>
      <span class="axis muted" aria-hidden="true">
        <span>{bars.at(0)?.label}</span>
        <span>{bars.at(-1)?.label}</span>
      </span>
    </figure>
  );
}
