import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** State of a listening socket in proc_net_tcp(5). */
const LISTEN = "0A";

/** The process that listens on a port of this machine, such as "node (pid 4711)", if this user may see it. */
export function portHolder(port: number): string | undefined {
  const inodes = new Set(
    ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => listeningInodes(file, port)),
  );
  if (inodes.size === 0) return undefined;
  for (const pid of entries("/proc").filter((name) => /^\d+$/.test(name))) {
    for (const fd of entries(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode !== undefined && inodes.has(inode)) return `${nameOf(pid)} (pid ${pid})`;
    }
  }
  return undefined;
}

function listeningInodes(file: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return textOf(file)
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = "", , state]) => local.endsWith(suffix) && state === LISTEN)
    .map((fields) => fields[9] ?? "");
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
