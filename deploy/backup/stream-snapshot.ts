/**
 * Backup and restore of a JetStream stream with its consumers, over the server's own interface
 * (`$JS.API.STREAM.SNAPSHOT` and `$JS.API.STREAM.RESTORE`). The folder has the two files that the
 * `nats` command line uses for servers before 2.15: `backup.json` and `stream.tar.s2`.
 */
import { mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInbox, type Msg, type NatsConnection } from "nats";

const CHUNK_BYTES = 128 * 1024;
const ANSWER_TIMEOUT_MS = 30_000;
/** After this long without a chunk, the server has given up. */
const SILENCE_MS = 10_000;

/** Readable by its owner only. */
const PRIVATE = 0o600;

const METADATA = "backup.json";
const DATA = "stream.tar.s2";

type ApiAnswer = {
  readonly error?: { readonly description?: string };
  readonly config?: unknown;
  readonly state?: { readonly messages?: number };
  readonly deliver_subject?: string;
};

/** Writes a stream and its consumers to a folder; returns the number of messages. */
export async function backupStream(
  connection: NatsConnection,
  stream: string,
  folder: string,
): Promise<number> {
  // The backup holds message bodies and phone numbers.
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const inbox = createInbox();
  const chunks = connection.subscribe(inbox);
  try {
    const answer = await ask(connection, `$JS.API.STREAM.SNAPSHOT.${stream}`, {
      deliver_subject: inbox,
      no_consumers: false,
      chunk_size: CHUNK_BYTES,
    });
    const draft = join(folder, `${DATA}.part`);
    await rm(draft, { force: true });
    const file = await open(draft, "w", PRIVATE);
    try {
      await receive(chunks, async (data) => void (await file.writeFile(data)));
      await file.sync();
    } finally {
      await file.close();
    }
    // Keep the earlier backup until this one is complete. Write backup.json last: it makes the backup valid.
    await rm(join(folder, METADATA), { force: true });
    await rename(draft, join(folder, DATA));
    const { config, state } = answer;
    const metadata = `${JSON.stringify({ config, state })}\n`;
    await writeFile(join(folder, METADATA), metadata, { mode: PRIVATE });
    return state?.messages ?? 0;
  } finally {
    chunks.unsubscribe();
  }
}

/** Creates a stream, which must not exist, from a folder; returns the number of messages. */
export async function restoreStream(
  connection: NatsConnection,
  stream: string,
  folder: string,
): Promise<number> {
  const metadata: unknown = JSON.parse(await readFile(join(folder, METADATA), "utf8"));
  const subject = `$JS.API.STREAM.RESTORE.${stream}`;
  const { deliver_subject } = await ask(connection, subject, metadata);
  if (deliver_subject === undefined) throw new Error("the server names no place for the data");
  const file = await open(join(folder, DATA));
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
      // An empty message ends the upload; the response describes the stream.
      const answer = await connection.request(deliver_subject, buffer.subarray(0, bytesRead), {
        timeout: ANSWER_TIMEOUT_MS,
      });
      const said = readAnswer(answer);
      if (bytesRead === 0) return said.state?.messages ?? 0;
    }
  } finally {
    await file.close();
  }
}

/** Reads chunks until the empty one; acknowledging each requests the next. */
async function receive(
  chunks: AsyncIterable<Msg> & { unsubscribe(): void },
  write: (data: Uint8Array) => Promise<void>,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const watch = () => {
    clearTimeout(timer);
    timer = setTimeout(() => chunks.unsubscribe(), SILENCE_MS);
  };
  watch();
  try {
    for await (const chunk of chunks) {
      watch();
      if (chunk.data.length === 0) {
        const code = chunk.headers?.code ?? 0;
        if (code >= 400) throw new Error(`the server gave up: ${chunk.headers?.description}`);
        return;
      }
      await write(chunk.data);
      chunk.respond();
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error(`no chunk came for ${SILENCE_MS} ms`);
}

async function ask(
  connection: NatsConnection,
  subject: string,
  request: unknown,
): Promise<ApiAnswer> {
  const timeout = ANSWER_TIMEOUT_MS;
  return readAnswer(await connection.request(subject, JSON.stringify(request), { timeout }));
}

function readAnswer(message: Msg): ApiAnswer {
  if (message.data.length === 0) return {};
  const answer = message.json<ApiAnswer>();
  if (answer.error !== undefined) throw new Error(answer.error.description ?? "refused");
  return answer;
}
