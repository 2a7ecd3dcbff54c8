import { GSM7_SEPTETS } from "../../services/shared/core/gsm7.ts";
import { splitText } from "../../services/shared/core/segments.ts";

/** The segments of a text while it is typed, counted by the code that the service uses. */
export type Measure = {
  readonly encoding: "gsm7" | "ucs2";
  readonly segments: number;
  /** Septets or UTF-16 code units. */
  readonly units: number;
  /** Units that still fit in the present number of parts. */
  readonly left: number;
  /** The characters that make the text UCS-2, each once. */
  readonly culprits: readonly string[];
};

/** Units of one part alone, and of each part of several. */
const ROOM = { gsm7: [160, 153], ucs2: [70, 67] } as const;

export function measure(text: string): Measure {
  const { encoding, segments } = splitText(text);
  const size = (part: string) => (encoding === "gsm7" ? septets(part) : part.length);
  const [single, each] = ROOM[encoding];
  const room = segments.length === 1 ? single : each;
  return {
    encoding,
    segments: text === "" ? 0 : segments.length,
    units: size(text),
    left: room - size(segments.at(-1) ?? ""),
    culprits: [...new Set(text)].filter((char) => septets(char) === 0),
  };
}

/** 0 when a character is outside the GSM 7-bit alphabet. */
function septets(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const one = GSM7_SEPTETS[text.charCodeAt(at)] ?? 0;
    if (one === 0) return 0;
    count += one;
  }
  return count;
}
