import type { Sample } from "./trend.ts";

/** One line of a panel. */
export type Line = { readonly name: string; readonly samples: readonly Sample[] };

/** A chart of lines that share their unit. */
export type Panel = {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly Line[];
};

const WIDTH = 960;
const PANEL_HEIGHT = 240;
const LEFT = 70;
const RIGHT = 190;
const TOP = 34;
const BOTTOM = 28;
const TICKS = 4;

/** Colours for colour-blind readers (Okabe and Ito), then repeated with dashes. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/** Draws panels below each other over a common time, as one SVG document. */
export function drawPanels(title: string, panels: readonly Panel[]): string {
  const height = TOP + panels.length * PANEL_HEIGHT;
  const ends = panels.flatMap(({ lines }) => lines.map(({ samples }) => samples.at(-1)?.[0] ?? 0));
  const endS = Math.max(1, ...ends);
  const drawn = panels.map((panel, at) => drawPanel(panel, TOP + at * PANEL_HEIGHT, endS));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    `<text x="${LEFT}" y="20" font-size="15">${escapeXml(title)}</text>`,
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

function drawPanel({ title, unit, lines }: Panel, y: number, endS: number): string {
  const top = y + TOP;
  const bottom = y + PANEL_HEIGHT - BOTTOM;
  const values = lines.flatMap(({ samples }) => samples.map(([, value]) => value));
  const most = roundUp(Math.max(1e-9, ...values));
  const x = (atS: number) => LEFT + (atS / endS) * (WIDTH - LEFT - RIGHT);
  const yOf = (value: number) => bottom - (value / most) * (bottom - top);
  const parts = [`<text x="${LEFT}" y="${top - 10}">${escapeXml(`${title}, ${unit}`)}</text>`];
  for (let tick = 0; tick <= TICKS; tick += 1) {
    const value = (most * tick) / TICKS;
    const at = yOf(value).toFixed(1);
    parts.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#ddd"/>`,
      `<text x="${LEFT - 6}" y="${at}" dy="4" text-anchor="end">${shorten(value)}</text>`,
    );
    const minutes = shorten((endS * tick) / TICKS / 60);
    const label = `${minutes}${tick === TICKS ? " min" : ""}`;
    const place = x((endS * tick) / TICKS).toFixed(1);
    parts.push(`<text x="${place}" y="${bottom + 16}" text-anchor="middle">${label}</text>`);
  }
  lines.forEach(({ name, samples }, at) => {
    const colour = COLOURS[at % COLOURS.length];
    const dashes = at < COLOURS.length ? "" : ' stroke-dasharray="4 3"';
    const points = samples.map(([atS, value]) => `${x(atS).toFixed(1)},${yOf(value).toFixed(1)}`);
    parts.push(
      `<polyline fill="none" stroke="${colour}"${dashes} points="${points.join(" ")}"/>`,
      `<text x="${WIDTH - RIGHT + 12}" y="${top + 4 + at * 14}" fill="${colour}">${escapeXml(name)}</text>`,
    );
  });
  return parts.join("\n");
}

/** The next of 1, 2, 2.5, 4, 5, 8 or 10 times a power of ten: an axis ends on a round figure. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 4, 5, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}

function shorten(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 3 });
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
