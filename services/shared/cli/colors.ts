import { styleText } from "node:util";

/** Colours of a terminal, or none. */
export type Colors = {
  heading(text: string): string;
  /** Colours states by their meaning. */
  value(path: string, text: string): string;
  error(text: string): string;
  faint(text: string): string;
};

const STATE = /(^|\.)(status|state|link)$/;
const GOOD = /^(delivered|succeeded|active|approved|enabled|completed|running|bound|captured|ok)$/;
const BAD =
  /^(failed|dropped|undelivered|rejected|expired|disabled|suspended|low|no carrier|unbound|refused|revoked)/;
const OPEN = /^(queued|scheduled|pending|paused|draining|waiting|draft|retrying)/;

/** Colours when `isColoured`; else every text as it is. */
export function createColors(isColoured: boolean): Colors {
  const style = (format: Parameters<typeof styleText>[0], text: string) =>
    isColoured ? styleText(format, text, { validateStream: false }) : text;
  return {
    heading: (text) => style("bold", text),
    error: (text) => style("red", text),
    faint: (text) => style("dim", text),
    value(path, text) {
      if (!STATE.test(path)) return text;
      if (GOOD.test(text)) return style("green", text);
      if (BAD.test(text)) return style("red", text);
      return OPEN.test(text) ? style("yellow", text) : text;
    },
  };
}
