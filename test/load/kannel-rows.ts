import { kannelMissing, kannelVersion } from "../support/kannel.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { Driven } from "./highest-rate.ts";
import { measureKannelAccept, measureKannelEndToEnd } from "./kannel-load.ts";
import { startSimulatorProcess } from "./simulator-process.ts";

/** Kannel's figure for one of our rows; undefined without Kannel. */
export type KannelPeer = { readonly name: string; readonly text: string; readonly ratio: number };

/** Runs work against Kannel's fake SMSC as the carrier; undefined without Kannel. */
export async function besideKannel<T>(
  work: (kannel: Driven) => Promise<T>,
): Promise<T | undefined> {
  if (kannelMissing() !== undefined) return undefined;
  const smsc = await startSimulatorProcess(temporaryFolder("simulator"));
  try {
    return await work((load) => measureKannelEndToEnd(smsc, load));
  } finally {
    await smsc.stop();
  }
}

/** Kannel's accept rate at the same number of connections, and our figure. */
export async function kannelAcceptPeer(
  ours: number,
  shape: Parameters<typeof measureKannelAccept>[0],
): Promise<KannelPeer | undefined> {
  if (kannelMissing() !== undefined) return undefined;
  return toPeer(ours, (await measureKannelAccept(shape)).perSecond);
}

/** Kannel's figure and ours. Rejects a Kannel that sent nothing: its set-up is wrong. */
export function toPeer(ours: number, theirs: number): KannelPeer {
  if (!(theirs > 0)) throw new Error("Kannel carried nothing, so there is nothing to compare with");
  return {
    name: `Kannel ${kannelVersion()}`,
    text: `${Math.round(theirs)}/s`,
    ratio: ours / theirs,
  };
}
