/**
 * Kannel 1.4.5 (Debian's packages kannel and kannel-extras) as a peer: bearerbox binds to an SMSC,
 * smsbox takes sends over HTTP. Both listen on loopback, work in a folder of their own and log
 * only what is wrong.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePortRange } from "../../deploy/dev/ports.ts";
import { eventually } from "./poll.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const BEARERBOX = "/usr/sbin/bearerbox";
const SMSBOX = "/usr/sbin/smsbox";

/** Bits of Kannel's dlr-mask that stand for a handset's answer and for the SMSC's. */
export const DLR_MASK = { delivered: 1, undelivered: 2, submitted: 8, refused: 16 } as const;

/** A running Kannel. */
export type Kannel = {
  /** Where smsbox takes HTTP requests. */
  readonly url: URL;
  readonly pids: Readonly<Record<string, number>>;
  /** Ends both programs and removes their folder. */
  stop(): Promise<void>;
};

/** How Kannel is set up. */
export type KannelOptions = {
  readonly smsc: {
    readonly port: number;
    readonly systemId: string;
    readonly password: string;
  };
  /** Submits that may wait for their answer (`max-pending-submits`). */
  readonly window: number;
  /** Keeps waiting messages in files, as an installation would that may not lose them. */
  readonly hasSpool?: boolean;
};

/** Why there is no Kannel here; undefined when there is one. */
export function kannelMissing(): string | undefined {
  if (existsSync(BEARERBOX) && existsSync(SMSBOX)) return undefined;
  return "Kannel is not installed (Debian packages kannel, kannel-extras)";
}

/** The version that bearerbox names, for reports. */
export function kannelVersion(): string {
  try {
    const line = execFileSync("dpkg-query", ["-W", "kannel"], { encoding: "utf8" });
    return line.trim().split(/\s+/)[1] ?? "unknown";
  } catch {
    return "unknown";
  }
}

/** Starts both programs and waits until smsbox takes requests. */
export async function startKannel(options: KannelOptions): Promise<Kannel> {
  const folder = temporaryFolder("kannel");
  const base = await freePortRange(4);
  const children: ChildProcess[] = [];
  const file = join(folder, "kannel.conf");
  const run = (program: string): number => {
    // Verbosity 4 is panics only: by default every message is logged several times.
    const child = spawn(program, ["-v", "4", file], { cwd: folder, stdio: "ignore" });
    children.push(child);
    return child.pid ?? 0;
  };
  const stop = async () => {
    for (const child of children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  };
  const isUp = (url: string) => () =>
    fetch(url).then(
      (answer) => answer.text().then(() => true),
      () => false,
    );
  try {
    await writeFile(file, configuration(base, options));
    const bearerbox = run(BEARERBOX);
    const status = `http://127.0.0.1:${base}/status.txt?password=x`;
    await eventually(isUp(status), { timeoutMs: 20_000, what: "bearerbox" });
    const smsbox = run(SMSBOX);
    const url = new URL(`http://127.0.0.1:${base + 3}`);
    await eventually(isUp(url.href), { timeoutMs: 20_000, what: "smsbox" });
    return { url, pids: { bearerbox, smsbox }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The address, below `Kannel.url`, that sends one message. */
export function sendSmsPath(message: {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  /** Called by smsbox for each report of the mask; `%d` is the report's type. */
  readonly report?: { readonly url: string; readonly mask: number };
}): string {
  const { from, to, text, report } = message;
  const query = new URLSearchParams({ username: "u", password: "p", from, to, text });
  if (report !== undefined) {
    query.set("dlr-mask", String(report.mask));
    query.set("dlr-url", report.url);
  }
  return `/cgi-bin/sendsms?${query}`;
}

function configuration(base: number, { smsc, window, hasSpool = false }: KannelOptions): string {
  return `group = core
admin-port = ${base}
admin-password = x
admin-interface = 127.0.0.1
smsbox-port = ${base + 1}
smsbox-interface = 127.0.0.1
box-deny-ip = "*.*.*.*"
box-allow-ip = "127.0.0.1"
dlr-storage = internal
${hasSpool ? "store-type = spool\nstore-location = ." : ""}

group = smsc
smsc = smpp
host = 127.0.0.1
port = ${smsc.port}
smsc-username = ${smsc.systemId}
smsc-password = ${smsc.password}
system-type = ""
transceiver-mode = true
max-pending-submits = ${window}
source-addr-ton = 5
source-addr-npi = 0
dest-addr-ton = 1
dest-addr-npi = 1

group = smsbox
bearerbox-host = 127.0.0.1
bearerbox-port = ${base + 1}
sendsms-port = ${base + 3}
sendsms-interface = 127.0.0.1

group = sendsms-user
username = u
password = p
`;
}
