/**
 * A name with two addresses, far away: the first accepts a connection only after about a second, the second never.
 * The first belongs to a process that is stopped while its queue of connections is full; Linux drops further SYNs,
 * and the client's retransmission after one second finds the process running again.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { replaceLookup } from "./name-lookup.ts";
import { eventually } from "./poll.ts";

/** An address of the reserved block 240.0.0.0/4, which no route reaches. */
const UNREACHABLE = "240.0.0.1";
const NAME = "far-away.example";
/** Longer than the 500 ms that Node gives an address; a busy machine has the rest of the second to continue it. */
const STOPPED_MS = 550;

const FORWARD = `
  const net = require("node:net");
  const server = net.createServer((client) => {
    const target = net.connect(Number(process.argv[1]), "127.0.0.1");
    client.on("error", () => target.destroy()).on("close", () => target.destroy()).pipe(target);
    target.on("error", () => client.destroy()).on("close", () => client.destroy()).pipe(client);
  });
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));
`;

/** The way to a server of this machine. */
export type SlowPath = {
  readonly host: string;
  readonly port: number;
  /** Begins the second in which no connection is accepted. */
  stall(): Promise<void>;
  close(): void;
};

/** Opens a slow path to a port of 127.0.0.1. Replaces `dns.lookup` until it is closed. */
export async function openSlowPath(targetPort: number): Promise<SlowPath> {
  const child = spawn(process.execPath, ["-e", FORWARD, String(targetPort)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = Number(String((await once(child.stdout, "data"))[0]));
  const fillers: Socket[] = [];
  const restoreLookup = replaceLookup(NAME, ["127.0.0.1", UNREACHABLE]);
  return {
    host: NAME,
    port,
    async stall() {
      child.kill("SIGSTOP");
      for (let count = 0; count < 6; count += 1) {
        const filler = connect(port, "127.0.0.1");
        filler.on("error", () => undefined);
        fillers.push(filler);
      }
      await eventually(() => fillers.filter(({ connecting }) => !connecting).length >= 2);
      setTimeout(() => child.kill("SIGCONT"), STOPPED_MS);
    },
    close() {
      restoreLookup();
      for (const filler of fillers) filler.destroy();
      child.kill("SIGKILL");
    },
  };
}
