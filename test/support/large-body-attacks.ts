/**
 * Attacks with bodies on a running gateway: how long another tenant's requests and the liveness probe take meanwhile,
 * and how much memory the gateway has.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";

/** The largest body of the contract. */
const BYTES_MAX = 4_194_304;

/** One request, as bytes. */
export type Attack = {
  readonly name: string;
  /** Without a key it is the same as another attack: no body is parsed then. */
  readonly needsKey: boolean;
  readonly request: (apiKey: string) => Buffer;
};

/** The latencies of other callers. */
export type AttackResult = {
  readonly statuses: Readonly<Record<string, number>>;
  readonly balanceP90Ms: number;
  readonly balanceP99Ms: number;
  readonly balanceMaxMs: number;
  /** The other tenant's requests that were refused because the gateway was busy. */
  readonly balanceRefusedShare: number;
  readonly livezMaxMs: number;
  readonly residentMaxMib: number;
};

function fill(
  start: string,
  item: (at: number) => string,
  end: string,
  itemsMax = Infinity,
): string {
  const parts: string[] = [];
  let length = start.length + end.length;
  for (let at = 0; at < itemsMax; at += 1) {
    const one = `${at === 0 ? "" : ","}${item(at)}`;
    length += one.length;
    if (length > BYTES_MAX) break;
    parts.push(one);
  }
  return start + parts.join("") + end;
}

const phone = (at: number) => `0803${String(at).padStart(7, "0")}`;

const BODIES: Readonly<Record<string, string>> = {
  "4 MiB of empty arrays": fill('{"x":[', () => "[]", "]}"),
  "300,000 names": fill("{", (at) => `"n${at}":1`, "}"),
  "70,000 names in objects of their own shapes": fill(
    '{"x":[',
    (at) => `{${Array.from({ length: 6 }, (_, name) => `"${name}v${at}":1`).join(",")}}`,
    "]}",
    11_666,
  ),
  "4 MiB of recipients": fill('{"from":"Acme","body":"Hi","to":[', (at) => `"${phone(at)}"`, "]}"),
  "a batch of 1,000 bodies of 4 kB": fill(
    '{"from":"Acme","messages":[',
    (at) => `{"to":"${phone(at)}","body":"${"b".repeat(4100)}"}`,
    "]}",
    1000,
  ),
  "one text of 4 MiB": `{"to":"${phone(1)}","from":"Acme","body":"${"a".repeat(BYTES_MAX - 60)}"}`,
};

const PATH = "/v1/sms/messages/batch";

function head(apiKey: string, ...lines: readonly string[]): string {
  const key = apiKey === "" ? [] : [`Authorization: Bearer ${apiKey}`];
  const all = [
    `POST ${PATH} HTTP/1.1`,
    "Host: x",
    "Content-Type: application/json",
    ...key,
    ...lines,
  ];
  return `${all.join("\r\n")}\r\n\r\n`;
}

function announced(body: string) {
  return (apiKey: string) =>
    Buffer.from(`${head(apiKey, `Content-Length: ${Buffer.byteLength(body)}`)}${body}`);
}

function chunked(body: string, chunkBytes: number) {
  const parts: string[] = [];
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.slice(at, at + chunkBytes);
    parts.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  }
  const bytes = `${parts.join("")}0\r\n\r\n`;
  return (apiKey: string) => Buffer.from(`${head(apiKey, "Transfer-Encoding: chunked")}${bytes}`);
}

const ARRAYS = BODIES["4 MiB of empty arrays"] ?? "";

/** All attacks. */
export const ATTACKS: readonly Attack[] = [
  ...Object.entries(BODIES).map(([name, body]) => ({
    ...{ name, needsKey: body !== ARRAYS, request: announced(body) },
  })),
  { name: "4 MiB of empty arrays, chunked", needsKey: false, request: chunked(ARRAYS, 65_536) },
  {
    name: "1 MiB in chunks of one byte",
    needsKey: false,
    request: chunked(ARRAYS.slice(0, 1_048_576), 1),
  },
  {
    name: "a body that never comes",
    needsKey: false,
    request: (apiKey) => Buffer.from(head(apiKey, `Content-Length: ${BYTES_MAX}`)),
  },
  {
    name: "a body that stops at 1 MiB",
    needsKey: false,
    request: (apiKey) =>
      Buffer.from(head(apiKey, `Content-Length: ${BYTES_MAX}`) + ARRAYS.slice(0, 1_048_576)),
  },
];

/** Sends an attack at a rate for a time, while another tenant reads its balance every 20 ms. */
export async function runAttack(options: {
  readonly attack: Attack;
  readonly apiKey: string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly gateway: string;
  readonly livez: string;
  readonly victimKey: string;
  readonly pid: number;
  /** How long a request without an answer stays open; 20 s unless set. */
  readonly openMs?: number;
}): Promise<AttackResult> {
  const { attack, perSecond, seconds, gateway, livez, victimKey, pid, openMs } = options;
  const request = attack.request(options.apiKey);
  const prober = new Worker(new URL("./large-body-prober.ts", import.meta.url), {
    workerData: { gateway, livez, victimKey },
  });
  await new Promise((resolve) => prober.once("message", resolve));
  let residentMaxMib = 0;
  const sampling = setInterval(() => {
    residentMaxMib = Math.max(residentMaxMib, residentMib(pid));
  }, 50);
  const statuses: Record<string, number> = {};
  const running: Promise<void>[] = [];
  const startMs = performance.now();
  for (let at = 0; at < perSecond * seconds; at += 1) {
    await sleep(Math.max(0, startMs + (at * 1000) / perSecond - performance.now()));
    running.push(
      sendOnce(gateway, request, openMs).then((status) => {
        statuses[status] = (statuses[status] ?? 0) + 1;
      }),
    );
  }
  await sleep(Math.max(0, startMs + seconds * 1000 - performance.now()));
  const measured = new Promise<Omit<AttackResult, "statuses" | "residentMaxMib">>((resolve) =>
    prober.once("message", resolve),
  );
  prober.postMessage("stop");
  const latencies = await measured;
  await Promise.all(running);
  clearInterval(sampling);
  await prober.terminate();
  return { statuses, residentMaxMib, ...latencies };
}

/** Sends one request on a connection of its own; resolves to its status, or to how it ended. */
function sendOnce(gateway: string, bytes: Buffer, openMs = 20_000): Promise<string> {
  const { hostname, port } = new URL(gateway);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const timer = setTimeout(() => finish("no answer"), openMs);
    const finish = (result: string) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    socket.once("data", (data) => finish(data.toString("latin1", 9, 12)));
    socket.once("error", (error: NodeJS.ErrnoException) => finish(error.code ?? "error"));
    socket.once("close", () => finish("closed"));
    socket.once("connect", () => socket.write(bytes));
  });
}

/** Resident memory (proc(5)). */
function residentMib(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
