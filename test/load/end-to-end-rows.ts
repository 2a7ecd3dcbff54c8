import type { StackFile } from "../../deploy/dev/stack-file.ts";
import type { Load } from "./end-to-end.ts";
import { type Driven, searchHighestRate } from "./highest-rate.ts";
import { besideKannel, type KannelPeer, toPeer } from "./kannel-rows.ts";
import { measureOurEndToEnd } from "./our-end-to-end.ts";
import type { Row } from "./report.ts";

/** Where no peer is installed: the least that Kannel held when the budget was set (design 10). */
const LEAST_PEER_RATE = 1000;

/** The steady rate that we hold from request to settlement, and Kannel's. */
export async function heldRate(stack: StackFile): Promise<Row> {
  const ours: Driven = (load) => measureOurEndToEnd(stack, load);
  const both = await besideKannel((kannel) => searchHighestRate({ ours, kannel }));
  const held = both?.ours ?? (await searchHighestRate({ ours })).ours;
  const peer = both === undefined ? undefined : toPeer(held.perSecond, both.kannel.perSecond);
  return {
    path: "single sends end to end (accepted → delivered, settled, notified), steady",
    budget: "what Kannel holds",
    aim: "2,000/s",
    measured: `${held.perSecond}/s held (accept p99 ${held.acceptP99Ms.toFixed(0)} ms)`,
    met: peer === undefined ? held.perSecond >= LEAST_PEER_RATE : peer.ratio >= 1,
    ...withPeer(peer),
    figures: { perSecond: held.perSecond, acceptP99Ms: held.acceptP99Ms },
  };
}

/** More than anyone holds for some seconds, until the last message has ended; no row of the budgets. */
export async function flood(stack: StackFile, load: Load): Promise<Row> {
  const ours = await measureOurEndToEnd(stack, load);
  const theirs = await besideKannel((kannel) => kannel(load));
  const { perSecond, done, wanted, refused, seconds, acceptP99Ms } = ours;
  return {
    path: `single sends end to end, ${load.perSecond}/s offered for ${load.seconds} s`,
    budget: "",
    aim: "",
    measured:
      `${Math.round(perSecond)}/s (${done} of ${wanted} in ${seconds.toFixed(1)} s, ` +
      `accept p99 ${acceptP99Ms.toFixed(0)} ms)`,
    met: done === wanted,
    ...withPeer(theirs === undefined ? undefined : toPeer(perSecond, theirs.perSecond)),
    figures: { perSecond, done, wanted, refused, seconds, acceptP99Ms },
  };
}

function withPeer(peer: KannelPeer | undefined): { readonly peer?: KannelPeer } {
  return peer === undefined ? {} : { peer };
}
