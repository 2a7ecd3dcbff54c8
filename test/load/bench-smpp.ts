/**
 * Measures the SMPP library: the codec on one core; raw submits at window 100 without latency, each
 * pairing of our client and server and those of the npm package smpp in one run; and how much of
 * window ÷ round trip is reached at windows 1, 10 and 100 when the simulator takes 20 ms to answer.
 * `SECONDS=…` sets the length of each measurement (2.5); with it about 25 seconds in all.
 */
import { decodePdu, encodePduInto } from "../../services/shared/smpp/codec.ts";
import { type Row, report } from "./report.ts";
import {
  npmSubmits,
  ourSubmits,
  SMPP_RECIPIENT,
  SMPP_TEXT,
  submitLatency,
  withServer,
} from "./smpp-rates.ts";

const FOR_MS = Number(process.env.SECONDS ?? 2.5) * 1000;
const LATENCY_MS = 20;
const WINDOW = 100;
const WINDOWS = [1, 10, 100] as const;

/** PDUs encoded and decoded per second. */
function codecRate(forMs: number): number {
  const scratch = Buffer.alloc(1024);
  const body = {
    sourceAddrTon: 5,
    sourceAddr: "ACME",
    destAddrTon: 1,
    destAddrNpi: 1,
    destinationAddr: SMPP_RECIPIENT,
    registeredDelivery: 1,
    shortMessage: Buffer.from(SMPP_TEXT),
  };
  const startedAtMs = performance.now();
  let sequence = 0;
  while (performance.now() - startedAtMs < forMs) {
    for (let i = 0; i < 1000; i++) {
      const end = encodePduInto({ command: "submit_sm", sequence: ++sequence, body }, scratch, 0);
      if (decodePdu(scratch, 0, end).sequence !== sequence) throw new Error("codec");
    }
  }
  return (sequence * 1000) / (performance.now() - startedAtMs);
}

function codec(): Row {
  codecRate(500);
  const perSecond = codecRate(Math.min(1500, FOR_MS));
  return {
    path: "codec: submit_sm encoded and decoded per second, one core",
    budget: "",
    aim: "",
    measured: whole(perSecond),
    met: true,
    figures: { perSecond },
  };
}

/** Our client and the peer's in turn, at the same server. */
async function clientsAt(server: "npm" | "ours", called: string): Promise<Row> {
  const ours = await withServer(server, ({ port }) => ourSubmits(port, WINDOW, FOR_MS));
  const theirs = await withServer(server, ({ port }) => npmSubmits(port, WINDOW, FOR_MS));
  return {
    path: `raw submits per second at window ${WINDOW}, ${called}`,
    budget: "npm smpp's",
    aim: "",
    measured: `${whole(ours)}/s`,
    met: ours >= theirs,
    peer: { name: "npm smpp", text: `${whole(theirs)}/s`, ratio: ours / theirs },
    figures: { ours, theirs },
  };
}

/** The share of window ÷ round trip that is reached; the smallest of the windows counts. */
async function shares(): Promise<Row> {
  const reached = await withServer("simulator", async ({ port, controlPort }) => {
    await submitLatency(controlPort, LATENCY_MS);
    const found: number[] = [];
    for (const window of WINDOWS) {
      const perSecond = await ourSubmits(port, window, FOR_MS);
      found.push((100 * perSecond * LATENCY_MS) / (1000 * window));
    }
    return found;
  });
  const least = Math.min(...reached);
  const texts = WINDOWS.map((window, at) => `${reached[at]?.toFixed(1)} % at ${window}`);
  return {
    path: `SMPP: share of window ÷ round trip reached (${LATENCY_MS} ms)`,
    budget: "90 %",
    aim: "98 %",
    measured: texts.join(", "),
    met: least >= 90,
    figures: Object.fromEntries(
      WINDOWS.map((window, at) => [`window_${window}`, reached[at] ?? 0]),
    ),
  };
}

function whole(rate: number): string {
  return Math.round(rate).toLocaleString("en");
}

report("smpp", [
  codec(),
  await clientsAt("npm", "npm smpp's server"),
  await clientsAt("ours", "our server"),
  await shares(),
]);
