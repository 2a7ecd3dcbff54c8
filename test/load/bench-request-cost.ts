/**
 * `make bench-request-cost [ONLY=name] [MIN_MS=0]`: the CPU time that one request takes in the gateway's event loop,
 * for the largest legal and illegal inputs of every kind; the median of five. The services behind are in memory, and
 * the client is a worker, so only the gateway's own work counts.
 */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { create } from "@bufbuild/protobuf";
import {
  ListMessagesResponseSchema,
  MessageStatus,
  SendMessagesResponseSchema,
} from "../../proto/gen/sms/v1/messaging_pb.js";
import { newId } from "../../services/shared/core/ids.ts";
import { API_KEY, memoryPorts, openRestApp } from "../support/rest-app.ts";

const REQUESTS = 5;
const BODY_MAX = 4_194_304;

type Case = { readonly name: string; readonly bytes: string };

const phone = (at: number) => `0803${String(at).padStart(7, "0")}`;
const list = (count: number, item: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => item(at)).join(",");

function request(method: string, path: string, body = "", headers: readonly string[] = []): string {
  const isJson = !headers.some((line) => /^content-type:/i.test(line));
  const own = [
    `${method} ${path} HTTP/1.1`,
    "Host: x",
    `Authorization: Bearer ${API_KEY}`,
    ...(body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    ...(body === "" || !isJson ? [] : ["Content-Type: application/json"]),
    ...headers,
  ];
  return `${own.join("\r\n")}\r\n\r\n${body}`;
}

const SMS = "/v1/sms/messages";
const KEY = "Idempotency-Key: one";
const single = (fields: object) =>
  JSON.stringify({ to: phone(1), from: "Acme", body: "Hello", ...fields });
const post = (path: string, body: string, ...headers: string[]) =>
  request("POST", path, body, headers);
const get = (path: string, ...headers: string[]) => request("GET", path, "", headers);
const long = (text: string, used = 200) => text.repeat(Math.floor((BODY_MAX - used) / text.length));
const query = (text: string) => text.repeat(Math.floor(15_000 / text.length));
const rows = (variables: (row: number) => string) =>
  `{"recipients":[${list(1000, (at) => `{"to":"${phone(at)}","variables":{${variables(at)}}}`)}]}`;
const CAMPAIGN = `/v1/campaigns/cmp_${"0".repeat(26)}/recipients`;

const SENDS: Readonly<Record<string, string>> = {
  "single send": post(SMS, single({})),
  "single send, 10 segments": post(SMS, single({ body: "a".repeat(1530) })),
  "single send, text of 4 MiB": post(SMS, single({ body: long("a") })),
  "single send, text of 4 MiB in UCS-2": post(SMS, single({ body: long("₦").slice(0, 1_390_000) })),
  "single send, sender of 4 MiB": post(SMS, single({ from: long("a") })),
  "single send, recipient of 4 MiB": post(SMS, single({ to: long("1") })),
  "single send, reference of 4 MiB": post(SMS, single({ client_reference: long("a") })),
  "single send, send_at of 4 MiB": post(
    SMS,
    single({ send_at: `2026-12-01T00:00:00.${long("1")}Z` }),
  ),
  "bulk, 10,000 recipients, with a key": post(
    `${SMS}/bulk`,
    `{"from":"Acme","body":"Hi","to":[${list(10_000, (at) => `"${phone(at)}"`)}]}`,
    KEY,
  ),
  "bulk, 10,000 wrong types": post(
    `${SMS}/bulk`,
    `{"from":"Acme","body":"Hi","to":[${list(10_000, () => "1")}]}`,
  ),
  "bulk, 149,000 recipients, with a key": post(
    `${SMS}/bulk`,
    `{"from":"Acme","body":"Hi","to":[${list(149_000, (at) => `"${phone(at)}"`)}]}`,
    KEY,
  ),
  "batch, 1,000 texts of 160, with a key": post(
    `${SMS}/batch`,
    `{"from":"Acme","messages":[${list(1000, (at) => `{"to":"${phone(at)}","body":"${"b".repeat(160)}"}`)}]}`,
    KEY,
  ),
  "batch, 1,000 texts of 4,100, with a key": post(
    `${SMS}/batch`,
    `{"from":"Acme","messages":[${list(1000, (at) => `{"to":"${phone(at)}","body":"${"b".repeat(4100)}"}`)}]}`,
    KEY,
  ),
  "batch, 1,000 items with 15 faults each": post(
    `${SMS}/batch`,
    `{"from":"Acme","messages":[${list(1000, () => `{${list(15, (at) => `"x${at}":1`)}}`)}]}`,
    KEY,
  ),
  "batch, 16,000 items": post(`${SMS}/batch`, `{"messages":[${list(16_000, () => "{}")}]}`, KEY),
};

const BODIES: Readonly<Record<string, string>> = {
  "70,000 unknown names, with a key": post(SMS, `{${list(70_000, (at) => `"n${at}":1`)}}`, KEY),
  "16,000 arrays, with a key": post(SMS, `{"x":[${list(16_000, () => "[]")}]}`, KEY),
  "4 MiB of arrays": post(SMS, `{"x":[${list(1_390_000, () => "[]")}]}`),
  "149,000 numbers of 13 digits": post(SMS, `{"x":[${list(149_000, () => "1.23456789012")}]}`, KEY),
  "one number of 4 MiB": post(SMS, `{"x":${long("1")}}`, KEY),
  "white space of 4 MiB": post(SMS, `${" ".repeat(BODY_MAX - 2)}{}`, KEY),
  "escapes of 4 MiB": post(SMS, `{"x":"${long("\\u00e9")}"}`, KEY),
  "escaped quotes of 4 MiB": post(SMS, `{"x":"${long('\\"')}"}`, KEY),
  "half surrogates of 4 MiB": post(SMS, single({ body: "" }).replace('""', `"${long("\\ud800")}"`)),
  "endpoint with 149,000 event types": post(
    "/v1/webhook-endpoints",
    `{"url":"https://a.example/","event_types":[${list(149_000, () => '"webhook.x"')}]}`,
  ),
  "endpoint with 149,000 different event types": post(
    "/v1/webhook-endpoints",
    `{"url":"https://a.example/","event_types":[${list(149_000, (at) => `"e${at}"`)}]}`,
  ),
  "endpoint with an address of 4 MiB": post(
    "/v1/webhook-endpoints",
    `{"url":"https://${long("a.")}example/"}`,
  ),
  "campaign rows, 64 variables each, with a key": post(
    CAMPAIGN,
    rows(() => list(64, (at) => `"v${at}":"value"`)),
    KEY,
  ),
  "campaign rows, 64 names of their own each": post(
    CAMPAIGN,
    rows((row) => list(64, (at) => `"v${row}x${at}":"value"`)),
    KEY,
  ),
  "campaign file of 4 MiB, with a key": post(
    CAMPAIGN,
    `to\n${long("08031234567\n")}`,
    KEY,
    "Content-Type: text/csv",
  ),
};

const OTHERS: Readonly<Record<string, string>> = {
  "list of 100 messages of 1,600 characters": get("/v1/messages?limit=100"),
  "query of many statuses": get(`/v1/messages?${query("status=sent&")}`),
  "query of many wrong statuses": get(`/v1/messages?${query("status=x&")}`),
  "query of many unknown names": get(
    `/v1/messages?${list(1800, (at) => `n${at}=1`).replaceAll(",", "&")}`,
  ),
  "query of escapes": get(`/v1/messages?from=${query("%E2%82%A6")}`),
  "query with a cursor of 15 kB": get(`/v1/messages?cursor=${query("a")}`),
  "query with a time of 15 kB": get(
    `/v1/messages?created_after=2026-01-01T00:00:00.${query("1")}Z`,
  ),
  "query with a recipient of brackets": get(`/v1/messages?to=${"(".repeat(250)}`),
  "path of 15 kB": get(`/v1/messages/${query("a/")}`),
  "path of escapes": get(`/v1/messages/${query("%2F")}`),
  "path of dots": get(`/v1/webhook-endpoints/${query("../")}deliveries`),
  "1,500 headers": get("/v1/messages/x", ...Array.from({ length: 1500 }, (_, at) => `n${at}: 1`)),
  "one header of 15 kB": get("/v1/messages/x", `X-Forwarded-For: ${query("10.0.0.1, ")}`),
  "cookies of 15 kB": get("/v1/messages/x", `Cookie: ${query("a=b; ")}`),
  "media type with parameters of 15 kB": post(
    SMS,
    single({}),
    `Content-Type: application/json${query("; a=b")}`,
  ),
  "media type with spaces of 15 kB": post(
    SMS,
    single({}),
    `Content-Type: application/json;${query(" ")}x`,
  ),
  "key of 15 kB": get("/v1/messages/x").replace(API_KEY, query("a")),
  "idempotency key of 15 kB": post(SMS, single({}), `Idempotency-Key: ${query("a")}`),
  "trace of 15 kB": get("/v1/messages/x", `traceparent: ${query("0")}`),
  "reference page": get("/docs"),
  "OpenAPI document": get("/openapi.json"),
};

const CASES: readonly Case[] = Object.entries({ ...SENDS, ...BODIES, ...OTHERS }).map(
  ([name, bytes]) => ({ name, bytes }),
);

if (isMainThread) await measureAll();
else await sendAll(workerData as number);

/** The client: sends the case that the main thread names, and reports the status. */
async function sendAll(port: number): Promise<void> {
  parentPort?.on("message", (name: string) => {
    const bytes = CASES.find((one) => one.name === name)?.bytes ?? "";
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => socket.write(bytes));
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
      if (end < 0 || text.length < end + 4 + length) return;
      socket.destroy();
      parentPort?.postMessage(text.slice(9, 12));
    });
    socket.on("error", (error) => parentPort?.postMessage(error.message));
  });
}

async function measureAll(): Promise<void> {
  const app = await openRestApp({ caller: { bulkMax: 10_000 }, ports: fullPorts() });
  const client = new Worker(new URL(import.meta.url), { workerData: app.port });
  await new Promise((resolve) => client.once("online", resolve));
  const results: { name: string; ms: number; status: string }[] = [];
  for (const { name } of CASES) {
    if (!name.includes(process.env.ONLY ?? "")) continue;
    const costs: number[] = [];
    let status = "";
    for (let at = 0; at < REQUESTS; at += 1) {
      await sleep(20);
      const before = process.threadCpuUsage();
      const answered = new Promise<string>((resolve) => client.once("message", resolve));
      client.postMessage(name);
      status = await answered;
      const { user, system } = process.threadCpuUsage(before);
      costs.push((user + system) / 1000);
    }
    costs.sort((a, b) => a - b);
    results.push({ name, ms: costs[REQUESTS >> 1] ?? 0, status });
  }
  results.sort((a, b) => b.ms - a.ms);
  for (const { name, ms, status } of results) {
    if (ms < Number(process.env.MIN_MS ?? 0)) continue;
    console.log(`${ms.toFixed(1).padStart(7)} ms  ${status}  ${name}`);
  }
  await client.terminate();
  await app.close();
}

/** Services that answer with the largest pages. */
function fullPorts() {
  const { messaging } = memoryPorts();
  const message = {
    id: newId("message"),
    status: MessageStatus.QUEUED,
    body: "₦".repeat(1600),
    createdAtMs: 1_780_000_000_000n,
    updatedAtMs: 1_780_000_000_000n,
  };
  const entries = Array.from({ length: 1000 }, (_, index) => ({
    id: newId("message"),
    index,
    input: "a".repeat(256),
    status: MessageStatus.REJECTED,
  }));
  const response = create(SendMessagesResponseSchema, { message, entries });
  return {
    messaging: {
      ...messaging,
      listMessages: async () =>
        create(ListMessagesResponseSchema, {
          messages: Array.from({ length: 100 }, () => message),
        }),
      sendMany: async () => ({ results: [{ result: { case: "response", value: response } }] }),
    } as never,
    sendOne: async () => response,
  };
}
