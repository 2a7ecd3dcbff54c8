/**
 * `node deploy/backup/stream.ts backup|restore <folder>` backs up or restores the event stream
 * with its consumers without the `nats` command line; the files are the same. Reads NATS_URL, NATS_TLS_*, and
 * EVENT_STREAM when the stream has another name.
 */
import { connect } from "nats";
import { natsOptions } from "../../services/shared/io/nats-options.ts";
import { backupStream, restoreStream } from "./stream-snapshot.ts";

const [what, folder] = process.argv.slice(2);
const work = { backup: backupStream, restore: restoreStream }[what ?? ""];
const url = process.env.NATS_URL;
if (work === undefined || folder === undefined || url === undefined) {
  process.stderr.write("usage: NATS_URL=… node deploy/backup/stream.ts backup|restore <folder>\n");
  process.exit(2);
}
const connection = await connect(natsOptions(url, process.env));
try {
  const messages = await work(connection, process.env.EVENT_STREAM ?? "SMS_EVENTS", folder);
  process.stdout.write(`${messages} messages\n`);
} finally {
  await connection.close();
}
