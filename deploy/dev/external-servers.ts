import { MongoClient } from "mongodb";
import { firstAnswer } from "./ports.ts";
import { SERVERS, type ServerName } from "./server-table.ts";
import { StackError } from "./stack-error.ts";
import type { StackState } from "./stack-file.ts";

/** Throws one line for the first server of the environment that does not respond. */
export async function requireExternalServers(state: StackState): Promise<void> {
  const urls: Record<ServerName, string> = {
    mongod: state.urls.mongodb,
    "nats-server": state.urls.nats,
    redis: state.urls.redis,
  };
  for (const name of Object.keys(SERVERS) as ServerName[]) {
    if (!state.external.includes(name) || (await answers(name, urls[name]))) continue;
    const setting = SERVERS[name].urlSetting;
    throw new StackError(
      `the server that ${setting} names does not answer: start it, or unset ${setting} to use an embedded one`,
    );
  }
}

async function answers(name: ServerName, url: string): Promise<boolean> {
  if (name === "mongod") return pingMongo(url);
  const first = URL.parse(url.split(",", 1)[0] ?? "");
  if (first === null) return false;
  const port = Number(first.port || (name === "redis" ? 6379 : 4222));
  // Redis replies to any input, if only with an error; NATS sends first.
  const hello = name === "redis" ? "PING\r\n" : undefined;
  return (await firstAnswer(port, first.hostname, hello, 3_000)) !== undefined;
}

async function pingMongo(url: string): Promise<boolean> {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: 3_000 });
  try {
    await client.db("admin").command({ ping: 1 });
    return true;
  } catch {
    return false;
  } finally {
    await client.close();
  }
}
