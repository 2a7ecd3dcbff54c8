import { hostname, userInfo } from "node:os";

/** Who runs this command and from where, for the audit trail. */
export function localActor(): { name: string; address: string } {
  return { name: `smsctl:${userName()}`, address: hostname() };
}

/** A user without an entry in the machine's list, as containers often have, is known by number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
