/**
 * `make bench-peers [ROUNDS=3 SECONDS=8 BENCH_RATE=1500]`: our stack and its peers at the same work
 * in the same run, in turn (ours, theirs, ours, theirs …), so that what else the machine does meets
 * both. Kannel for sends (end to end with receipts at window 100 over our simulator: the steady
 * rate that each holds, and a flood until its end; and accepted), the npm package smpp for the SMPP
 * client. A peer that is not installed is left out, with its reason.
 */
import { createRequire } from "node:module";
import { ConnectorState } from "../../proto/gen/sms/v1/routing_pb.js";
import { kannelMissing, kannelVersion } from "../support/kannel.ts";
import { setConnector } from "./connector-state.ts";
import { type Driven, type RateSearch, searchHighestRate } from "./highest-rate.ts";
import { measureKannelAccept } from "./kannel-load.ts";
import { besideKannel } from "./kannel-rows.ts";
import { ACCEPT_CONNECTIONS, measureOurAccept } from "./our-accept.ts";
import { measureOurEndToEnd } from "./our-end-to-end.ts";
import { keepResult, printTable } from "./report.ts";
import { npmSubmits, ourSubmits, withServer } from "./smpp-rates.ts";
import { type Spread, spreadOf } from "./spread.ts";
import { loadStack } from "./stack.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 3);
const SECONDS = Number(process.env.SECONDS ?? 8);
const RATE = Number(process.env.BENCH_RATE ?? 1500);
const WINDOW = 100;

type Comparison = {
  readonly work: string;
  readonly peer: string;
  readonly ours: Spread;
  readonly theirs: Spread;
  readonly rounds: { readonly ours: readonly number[]; readonly theirs: readonly number[] };
};

/** Measures both in turn and sums each up; both answer a figure per second. */
async function compare(
  work: string,
  peer: string,
  measureOurs: () => Promise<number>,
  measureTheirs: () => Promise<number>,
): Promise<Comparison> {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    ours.push(await measureOurs());
    theirs.push(await measureTheirs());
    const [a, b] = [ours, theirs].map((figures) => Math.round(figures.at(-1) ?? 0));
    process.stdout.write(`${work}, round ${round}: ours ${a}/s, ${peer} ${b}/s\n`);
  }
  return { work, peer, ours: spreadOf(ours), theirs: spreadOf(theirs), rounds: { ours, theirs } };
}

async function compareWithKannel(): Promise<readonly Comparison[]> {
  const missing = kannelMissing();
  if (missing !== undefined) process.stdout.write(`left out: ${missing}\n`);
  return (await besideKannel(compareWith)) ?? [];
}

async function compareWith(kannel: Driven): Promise<readonly Comparison[]> {
  const { stack, stop } = await loadStack();
  const shape = { warmupMs: 2000, measureMs: SECONDS * 1000 };
  const load = { perSecond: RATE, seconds: SECONDS };
  const ours: Driven = (offered) => measureOurEndToEnd(stack, offered);
  try {
    const held = await searchHighestRate({ ours, kannel });
    const endToEnd = await compare(
      `single sends end to end, ${RATE}/s offered until the last has ended`,
      "Kannel",
      async () => (await ours(load)).perSecond,
      async () => (await kannel(load)).perSecond,
    );
    await setConnector(stack, ConnectorState.PAUSED);
    const accept = await compare(
      `single sends accepted, ${ACCEPT_CONNECTIONS} connections`,
      "Kannel",
      async () => (await measureOurAccept(stack, shape)).perSecond,
      async () =>
        (await measureKannelAccept({ connections: ACCEPT_CONNECTIONS, ...shape })).perSecond,
    );
    return [heldRates(held), endToEnd, accept];
  } finally {
    await stop();
  }
}

/** The search is its own repetition: each rate is tried in turn, and one that is not held again. */
function heldRates({ ours, kannel }: Readonly<Record<"ours" | "kannel", RateSearch>>): Comparison {
  const ofOne = ({ perSecond }: RateSearch) => ({
    median: perSecond,
    min: perSecond,
    max: perSecond,
  });
  return {
    work: "single sends end to end, steady rate held",
    peer: "Kannel",
    ours: ofOne(ours),
    theirs: ofOne(kannel),
    rounds: { ours: offeredOf(ours), theirs: offeredOf(kannel) },
  };
}

function offeredOf({ runs }: RateSearch): number[] {
  return runs.map(({ offered }) => offered);
}

/** Both clients at the peer's own server, which no one can say we tuned for ourselves. */
function compareWithNpmSmpp(): Promise<Comparison> {
  const forMs = Math.min(SECONDS, 3) * 1000;
  const at = (submits: typeof ourSubmits) => () =>
    withServer("npm", ({ port }) => submits(port, WINDOW, forMs));
  const work = `SMPP submits at window ${WINDOW}`;
  return compare(work, "npm smpp", at(ourSubmits), at(npmSubmits));
}

function versions(): Record<string, string> {
  const { version } = createRequire(import.meta.url)("smpp/package.json") as { version: string };
  return { node: process.version, kannel: kannelVersion(), "npm smpp": version };
}

function print(comparisons: readonly Comparison[]): void {
  const text = ({ median, min, max }: Spread) =>
    `${Math.round(median)} (${Math.round(min)}–${Math.round(max)})`;
  printTable([
    ["work", "ours per second", "peer", "its figure", "ours ÷ peer"],
    ...comparisons.map(({ work, peer, ours, theirs }) => [
      work,
      text(ours),
      peer,
      text(theirs),
      `${(ours.median / theirs.median).toFixed(2)} ×`,
    ]),
  ]);
  process.stdout.write(`median (least–most) of ${ROUNDS} rounds in turn; `);
  process.stdout.write(
    `${Object.entries(versions())
      .map(([name, version]) => `${name} ${version}`)
      .join(", ")}\n`,
  );
}

const comparisons = [...(await compareWithKannel()), await compareWithNpmSmpp()];
print(comparisons);
keepResult("peers", { versions: versions(), rounds: ROUNDS, seconds: SECONDS, comparisons });
