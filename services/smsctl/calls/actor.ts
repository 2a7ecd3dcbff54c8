import { hostname, userInfo } from "node:os";
import type { Options } from "../cli/options.ts";

/**
 * Who runs this command and from where, for the audit trail. `--actor` tells people apart where they all are
 * the one user of a container.
 */
export function localActor(options: Options): { name: string; address: string } {
  const given = options.optional("actor") === undefined ? userName() : options.required("actor");
  return { name: `smsctl:${given}`, address: hostname() };
}

/** A user without an entry in the machine's list, as containers often have, is known by number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
