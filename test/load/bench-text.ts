import { compactSorted, fingerprint } from "../../services/shared/core/canonical-json.ts";
import { parseRecipient } from "../../services/shared/core/phone.ts";
import { formatInstant, parseInstant } from "../../services/shared/core/rfc3339.ts";
import { describeText } from "../../services/shared/core/segments.ts";

// How fast the pure text cores are on one core. Each figure is the best of five rounds of about
// 200 ms over distinct inputs, so that no round measures a warmed constant or another process.

const ROUNDS = 5;
const ROUND_MS = 200;
const INPUTS = 1000;

function measure<Input>(name: string, inputs: Input[], work: (input: Input) => unknown): void {
  let kept: unknown;
  let best = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    let done = 0;
    while (performance.now() - start < ROUND_MS) {
      for (const input of inputs) kept = work(input);
      done += inputs.length;
    }
    best = Math.max(best, done / (performance.now() - start));
  }
  if (kept === null) throw new Error("unreachable: the results must be used");
  console.log(
    `${name.padEnd(46)} ${Math.round(best * 1000)
      .toLocaleString("en")
      .padStart(13)}/s`,
  );
}

/** Bodies of an exact number of code units; parsed from JSON, so that they are flat strings. */
function bodies(length: number, pattern: string): string[] {
  const texts = Array.from({ length: INPUTS }, (_, index) =>
    `${index} ${pattern.repeat(length)}`.slice(0, length),
  );
  return JSON.parse(JSON.stringify(texts)) as string[];
}

function numbers(prefixes: string[]): string[] {
  const texts = Array.from(
    { length: INPUTS },
    (_, index) => `${prefixes[index % prefixes.length]}${1000 + index}`,
  );
  return JSON.parse(JSON.stringify(texts)) as string[];
}

const sentence = "Your code is 4821. It ends in 5 minutes, do not share it. ";
measure("describeText, 160 characters of GSM 7-bit", bodies(160, sentence), describeText);
measure(
  "describeText, 150 characters, 10 of them escaped",
  bodies(150, "[ok] thirty characters of text"),
  describeText,
);
measure(
  "describeText, 70 characters of UCS-2",
  bodies(70, "Káàbọ̀ sí ilé-ìfowópamọ́ wa "),
  describeText,
);
measure("describeText, 1,530 characters of GSM 7-bit", bodies(1530, sentence), describeText);
measure("describeText, 670 code units with emoji", bodies(670, "ok 😀 "), describeText);

const nigerian = numbers(["0803000", "+234803000", "234706000", "+234901000", "0813000", "902000"]);
const spaced = numbers(["0803 000 ", "+234 (0) 803-000-", "0706.000.", "(0901) 000 "]);
const foreign = numbers(["+4479111", "+120255", "+919876", "4915123", "+336123", "+23324400"]);
measure("parseRecipient, Nigerian mobiles", nigerian, parseRecipient);
measure("parseRecipient, the same with separators", spaced, parseRecipient);
measure("parseRecipient, foreign numbers", foreign, parseRecipient);

const instants = Array.from({ length: INPUTS }, (_, index) => 1_800_000_000_000 + index * 997);
measure("formatInstant", instants, formatInstant);
measure("parseInstant", instants.map(formatInstant), parseInstant);

const sends = nigerian.map((to) => ({ to, from: "Acme", body: sentence, client_reference: null }));
measure("fingerprint of a single send", sends, (send) => fingerprint(send));
measure("compactSorted of a single send", sends, compactSorted);
