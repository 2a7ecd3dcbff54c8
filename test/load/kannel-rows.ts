import { tmpdir } from "node:os";
import { kannelMissing, kannelVersion } from "../support/kannel.ts";
import type { Load } from "./end-to-end.ts";
import { measureKannelAccept, measureKannelEndToEnd } from "./kannel-load.ts";
import { startSimulatorProcess } from "./simulator-process.ts";

/** Kannel beside a row of ours; undefined where it is not installed. */
export type KannelPeer = { readonly name: string; readonly text: string; readonly ratio: number };

/** Kannel end to end at the same load, beside our figure. */
export async function kannelEndToEndPeer(
  ours: number,
  load: Load,
): Promise<KannelPeer | undefined> {
  if (kannelMissing() !== undefined) return undefined;
  const smsc = await startSimulatorProcess(tmpdir());
  try {
    return toPeer(ours, (await measureKannelEndToEnd(smsc, load)).perSecond);
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

function toPeer(ours: number, theirs: number): KannelPeer {
  return {
    name: `Kannel ${kannelVersion()}`,
    text: `${Math.round(theirs)}/s`,
    ratio: ours / theirs,
  };
}
