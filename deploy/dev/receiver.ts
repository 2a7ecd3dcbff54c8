import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { readJson } from "./json-file.ts";
import { openMailbox } from "./mailbox.ts";
import { readWholeRequest } from "./parse-http-request.ts";
import { isSigned } from "./signature.ts";

/**
 * The customer's side of a webhook, for development: takes POST over HTTPS on loopback, checks the
 * signature, and lists what came at `GET /events[?contains=text]` of its plain HTTP port; DELETE
 * empties the list. A request that is not signed with a known secret is listed too
 * (`verified: false`) and answered with 400.
 *
 * It runs on the machine that is measured, so it must cost little: a request that arrives in one piece is parsed and
 * answered here. Any other connection is passed to Node's HTTP server.
 */
const KEPT_MAX = 10_000;
const BODY_BYTES_MAX = 1_048_576;
const IDLE_MS = 60_000;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

type Received = {
  readonly headers: Headers;
  readonly body: string;
  readonly verified: boolean;
  readonly received_at: string;
};

const setting = (name: string) => {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is required`);
  return value;
};

openMailbox(Number(setting("RECEIVER_MAIL_PORT")));
const events: Received[] = [];
const secretsFile = setting("RECEIVER_SECRETS_FILE");
const readSecrets = () => readJson<string[]>(secretsFile) ?? [];
let secrets = readSecrets();

/** Lists what came; answers whether it was signed. */
function take(headers: Headers, body: Buffer): boolean {
  const header = headers["x-service-signature"];
  const signature = Array.isArray(header) ? header.join(",") : header;
  let verified = isSigned(signature, body, secrets, Date.now());
  if (!verified) {
    // An endpoint may have been made, or its secret rotated, since the file was read.
    secrets = readSecrets();
    verified = isSigned(signature, body, secrets, Date.now());
  }
  const received_at = new Date().toISOString();
  events.push({ headers, body: body.toString("utf8"), verified, received_at });
  // Some at a time: each cut moves all the others.
  if (events.length > KEPT_MAX + KEPT_MAX / 8) events.splice(0, events.length - KEPT_MAX);
  return verified;
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) return void response.writeHead(413).end();
  response.writeHead(take(request.headers, body) ? 204 : 400).end();
}

/** By its events: an iterator over the chunks would cost more than all else that is done here. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > BODY_BYTES_MAX) resolve(undefined);
      else chunks.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
    request.once("close", () => reject(new Error("the request was cut off")));
  });
}

function answerEvents(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  if (pathname === "/readyz") return void response.writeHead(200).end("ready\n");
  if (pathname !== "/events") return void response.writeHead(404).end();
  if (request.method === "DELETE") {
    events.length = 0;
    return void response.writeHead(204).end();
  }
  response.writeHead(200, { "content-type": "application/json" });
  const part = searchParams.get("contains") ?? "";
  response.end(JSON.stringify(events.slice(-KEPT_MAX).filter(({ body }) => body.includes(part))));
}

const tls = {
  cert: readFileSync(setting("RECEIVER_CERT_FILE")),
  key: readFileSync(setting("RECEIVER_KEY_FILE")),
};

const NODES_OWN = createServer((request, response) => {
  if (request.method !== "POST") return answerEvents(request, response);
  receive(request, response).catch(() => response.destroy());
});

function serve(socket: TLSSocket): void {
  const onData = (chunk: Buffer) => {
    const whole = readWholeRequest(chunk);
    if (whole === undefined) {
      socket.off("data", onData).setTimeout(0);
      NODES_OWN.emit("connection", socket);
      socket.unshift(chunk);
      return;
    }
    const isVerified = take(whole.headers, whole.body);
    socket.write(isVerified ? "HTTP/1.1 204 No Content\r\n\r\n" : BAD_REQUEST, "latin1");
  };
  socket.setNoDelay(true).setTimeout(IDLE_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy()).on("data", onData);
}

const BAD_REQUEST = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";

function listen(host: string): void {
  const server = createTlsServer(tls, serve);
  server.on("error", (error: NodeJS.ErrnoException) => {
    // A machine without IPv6 has no ::1; localhost then means 127.0.0.1 alone.
    if (host !== "127.0.0.1") return;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  server.listen(Number(setting("RECEIVER_PORT")), host);
}

listen("127.0.0.1");
listen("::1");
createServer(answerEvents).listen(Number(setting("RECEIVER_EVENTS_PORT")), "127.0.0.1");
process.stdout.write(`listening on ${setting("RECEIVER_PORT")}\n`);
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
