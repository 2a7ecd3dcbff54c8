import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** State of a listening socket in proc_net_tcp(5). */
const LISTEN = "0A";

/**
 * The holder of a port of this machine that cannot be bound: "node (pid 4711)" if it listens there, "a connection of
 * node (pid 4711)" if the port is the near end of one.
 */
export function portHolder(port: number): string {
  const sockets = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => socketsOf(file, port));
  const listening = sockets.filter(({ state }) => state === LISTEN);
  if (listening.length > 0) return processOf(listening) ?? "a process of another user";
  // A client's port is chosen by the system, from 32768 on by default.
  if (sockets.length > 0) return `a connection of ${processOf(sockets) ?? "another user"}`;
  return "a process that does not listen";
}

type Socket = { readonly inode: string; readonly state: string };

/** The process that has one of these sockets, if this user may see it. */
function processOf(sockets: readonly Socket[]): string | undefined {
  const inodes = new Set(sockets.map(({ inode }) => inode));
  for (const pid of entries("/proc").filter((name) => /^\d+$/.test(name))) {
    for (const fd of entries(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode !== undefined && inodes.has(inode)) return `${nameOf(pid)} (pid ${pid})`;
    }
  }
  return undefined;
}

function socketsOf(file: string, port: number): Socket[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return textOf(file)
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = ""]) => local.endsWith(suffix))
    .map((fields) => ({ state: fields[3] ?? "", inode: fields[9] ?? "" }));
}

function nameOf(pid: string): string {
  return (
    textOf(`/proc/${pid}/comm`)
      .trim()
      .replace(/-MainThread$/, "") || "a process"
  );
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The process ended, or belongs to another user.
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
