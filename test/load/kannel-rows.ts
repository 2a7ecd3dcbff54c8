import { tmpdir } from "node:os";
import { kannelMissing, kannelVersion } from "../support/kannel.ts";
import type { Driven } from "./held-rate.ts";
import { measureKannelAccept, measureKannelEndToEnd } from "./kannel-load.ts";
import { startSimulatorProcess } from "./simulator-process.ts";

/** Kannel beside a row of ours; undefined where it is not installed. */
export type KannelPeer = { readonly name: string; readonly text: string; readonly ratio: number };

/** Runs something with Kannel's own SMSC, which stands for the carrier; undefined without Kannel. */
export async function besideKannel<T>(
  work: (kannel: Driven) => Promise<T>,
): Promise<T | undefined> {
  if (kannelMissing() !== undefined) return undefined;
  const smsc = await startSimulatorProcess(tmpdir());
  try {
    return await work((load) => measureKannelEndToEnd(smsc, load));
  } finally {
    await smsc.stop();
  }
}

/** Kannel's accept rate at as many connections, beside our figure. */
export async function kannelAcceptPeer(
  ours: number,
  shape: Parameters<typeof measureKannelAccept>[0],
): Promise<KannelPeer | undefined> {
  if (kannelMissing() !== undefined) return undefined;
  return toPeer(ours, (await measureKannelAccept(shape)).perSecond);
}

/** A figure of Kannel beside ours. A Kannel that carried nothing is set up wrongly, and no measure of anything. */
export function toPeer(ours: number, theirs: number): KannelPeer {
  if (!(theirs > 0)) throw new Error("Kannel carried nothing, so there is nothing to compare with");
  return {
    name: `Kannel ${kannelVersion()}`,
    text: `${Math.round(theirs)}/s`,
    ratio: ours / theirs,
  };
}
